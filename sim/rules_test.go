package sim

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The rules of determinism, policed. What runs in a simulation is judged statement by
// statement, with the types that the compiler sees (rules_check_test.go):
//
//	go         no go statement
//	channel    no expression of a channel's type, no select
//	map        no range over a map
//	float      no float that is computed: constants are exact
//	address    no %p, and nothing given to fmt that it shows as an address
//	linkname   no function of another package by way of the linker
//	PKG.NAME   nothing of another package that is not allowed below
//
// The last is what real time, chance, the environment and everything else that nobody
// has thought of are refused by. The planted breaches are in rules_planted_test.go.

// policed are the packages that run in a simulation, and what they are in it.
var policed = map[string]string{
	"clock":         "every clock of a run goes by its arithmetic",
	"redlock":       "the lock that is simulated",
	"sim":           "the simulator",
	"sim/draw":      "what a scenario draws",
	"sim/flawed":    "the locks with faults",
	"sim/network":   "the network",
	"sim/node":      "the nodes",
	"sim/node/mini": "the nodes that are a miniredis",
	"sim/queue":     "the order of events",
	"sim/simredis":  "the nodes that speak Redis' protocol",
	"sim/spell":     "the texts of errors, which are part of a history",
}

// unpoliced are the other packages of the same folders, and why they need no rules.
var unpoliced = map[string]string{
	"clock/measure":                     "measures real clocks",
	"redlock/dialect":                   "of real databases; no simulated node uses it",
	"redlock/fence":                     "of the protected side in production",
	"redlock/locktest":                  "tests nodes in real time",
	"redlock/otel":                      "a module of its own",
	"redlock/sqlnode":                   "a real database as a node",
	"redlock/sqlnode/sqltest/databases": "a module of its own",
	"redlock/sqlnode/sqltest/instead":   "a module of its own",
	"redlock/sqlnode/sqltest/pause":     "a module of its own",
	"sim/findings":                      "keeps scenario files of runs that are over",
	"sim/picture":                       "draws runs that are over",
	"sim/simtest":                       "the bridge to package testing, outside of the run",
	"sim/simtest/jobs":                  "an example of code to be tested, with goroutines of its own",
	"sim/timeline":                      "tells runs that are over",
	"sim/tune":                          "statistics over runs that are over",
	"sim/tune/plot":                     "draws them",
}

// elsewhere are the files of policed packages that are compiled on some platforms
// only: this check sees those of the one it runs on.
var elsewhere = map[string]string{
	"clock/boottime_linux.go": "reads the machine's clocks, in production",
	"clock/boottime_other.go": "has none to read",
}

// allowed is what policed packages may use of others: * is everything, TYPE.* all
// methods of a type. What stands here depends on its arguments alone, or is data.
var allowed = table(`
bufio           *
bytes           *
cmp             *
encoding/base64 *
encoding/binary BigEndian bigEndian.* LittleEndian littleEndian.*
encoding/hex    *
errors          *
hash            Hash Hash.*
io              *
iter            *
crypto/sha1     Sum
crypto/sha256   New
regexp          *
slices          *
strconv         *
strings         *
sync            Mutex Mutex.* OnceFunc
sync/atomic     *
unicode         *
unicode/utf8    *

context   Background Canceled Cause CancelCauseFunc CancelFunc Context Context.* DeadlineExceeded
context   WithCancel WithCancelCause WithoutCancel
fmt       Appendf Errorf Fprintf Sprint Sprintf
maps      Clone Copy Equal
math      MaxInt64 MaxUint32 MaxUint64 MinInt64
math/big  Int Int.* NewInt NewRat Rat Rat.*
math/bits Add64 Div64 Len64 Mul64 OnesCount OnesCount64 RotateLeft64 TrailingZeros64
net       Addr Conn Conn.Close ErrClosed OpError
os        ErrDeadlineExceeded
syscall   ECONNREFUSED ECONNRESET
time      Duration Duration.Milliseconds Duration.String Duration.Truncate
time      Hour Minute Second Millisecond Microsecond Nanosecond
time      Time Time.Add Time.After Time.Before Time.Equal Time.IsZero Time.Sub Time.UTC Time.UnixNano

reflect   Append DeepEqual MakeMap MakeSlice New Type Type.* TypeFor StructTag.Get ValueOf Zero
reflect   Bool Int Map Pointer Slice String Struct Uint64
reflect   Value Value.Addr Value.Comparable Value.Elem Value.Field Value.FieldByIndex Value.FieldByName
reflect   Value.Index Value.Interface Value.IsNil Value.IsValid Value.IsZero Value.Kind Value.Len
reflect   Value.MapIndex Value.NumField Value.Set Value.SetMapIndex Value.SetZero Value.String Value.Type

github.com/go-json-experiment/json          Deterministic ErrUnknownName RejectUnknownMembers SemanticError Unmarshal
github.com/go-json-experiment/json/jsontext *
github.com/jonboulle/clockwork              Clock Clock.AfterFunc Clock.Now Clock.Since Clock.Sleep Clock.Until
github.com/jonboulle/clockwork              Ticker Ticker.* Timer Timer.*

# Commands and answers; what carries them to a server is exempt where it stands.
github.com/redis/go-redis/v9 AutoPipeliner Client ClusterClient Options Pipeliner Ring UniversalClient
github.com/redis/go-redis/v9 BoolCmd BoolCmd.Val Cmder Cmder.* IntCmd IntCmd.Val IntSliceCmd IntSliceCmd.Result
github.com/redis/go-redis/v9 SliceCmd SliceCmd.Val StringCmd StringCmd.Result baseCmd.Err
github.com/redis/go-redis/v9 NewBoolCmd NewIntCmd NewIntSliceCmd NewSliceCmd NewStringCmd
github.com/redis/go-redis/v9 DialHook ProcessHook ProcessPipelineHook
github.com/redis/go-redis/v9 ErrClosed ErrPoolExhausted ErrPoolTimeout Error HasErrorPrefix Nil
github.com/redis/go-redis/v9/maintnotifications Config Mode ModeDisabled

# A miniredis that is called, not served, and whose time moves when it is told.
github.com/alicebob/miniredis/v2        Miniredis NewMiniRedis Miniredis.Del Miniredis.FastForward Miniredis.FlushAll
github.com/alicebob/miniredis/v2        Miniredis.Get Miniredis.Set Miniredis.SetTTL Miniredis.TTL Miniredis.Server
github.com/alicebob/miniredis/v2/proto  Parse ReadError
github.com/alicebob/miniredis/v2/server NewPeer Server Server.Dispatch

# An interpreter without its libraries of time, files and the system; tables keep their order.
github.com/yuin/gopher-lua       ApiError Compile FunctionProto LBool LFalse LGFunction LNil LNumber LNumber.String
github.com/yuin/gopher-lua       LString LTable LTable.Append LTable.RawGetInt LTable.RawGetString LTable.RawSetString
github.com/yuin/gopher-lua       LState LState.Call LState.CheckString LState.CreateTable LState.Error LState.Get
github.com/yuin/gopher-lua       LState.GetGlobal LState.GetTop LState.NewFunction LState.NewFunctionFromProto
github.com/yuin/gopher-lua       LState.NewTable LState.PCall LState.Pop LState.Push LState.SetGlobal LState.SetTop
github.com/yuin/gopher-lua       LState.CheckAny LState.GetMetaField LState.Insert LState.ToStringMeta
github.com/yuin/gopher-lua       LTBool LTNil LTNumber LTString LValue LValue.String LValue.Type LValueType.String NewState Options
github.com/yuin/gopher-lua       BaseLibName MathLibName OpenBase OpenMath OpenString OpenTable StringLibName TabLibName
github.com/yuin/gopher-lua/parse Parse
`)

// production is what policed packages may not use of one another: it brings real time,
// chance or goroutines of its own.
var production = map[string]string{
	"clock.Boottime":             "real time",
	"clock.BoottimeOf":           "real time",
	"redlock.New":                "the production transport, in real time if nothing else is said",
	"redlock.NewLock":            "as above",
	"redlock.NewDistributedLock": "as above",
	"redlock.NewTransport":       "the production transport",
	"redlock.RedisNode":          "asks a real server",
}

// exempt are the declarations that may do otherwise: each with what it breaks.
var exempt = exemptions(
	"methods that clockwork or context demand: they pass a channel on, are nil, or panic", `
		clock.DriftingClock.After  channel
		clock.driftingTimer.Chan   channel
		clock.shortTimer.Chan      channel
		clock.ticker.Chan          channel
		sim.bubbleClock.After      channel
		sim.bubbleClock.NewTicker  channel
		sim.bubbleClock.NewTimer   channel
		sim.bubbleTimer.Chan       channel
		sim.clientClock.After      channel
		sim.lifetime.Done          channel
		sim.timer.Chan             channel`,
	"looks whether a context can end at all", `
		redlock.core.release  channel
		sim.routine.park      channel`,
	"real time, in production", `
		clock.bootClock.After      channel github.com/jonboulle/clockwork.Clock.After
		clock.bootClock.NewTicker  github.com/jonboulle/clockwork.Clock.NewTicker
		clock.bootClock.NewTimer   github.com/jonboulle/clockwork.Clock.NewTimer
		clock.bootClock.Now        time.Now
		clock.bootClock.scheduler  time.Now
		clock.bubbled              time.Time.Round
		clock.newBootClock         github.com/jonboulle/clockwork.NewRealClock
		clock.newSampler           time.Now
		clock.readSuspends         golang.org/x/sys/unix.CLOCK_BOOTTIME golang.org/x/sys/unix.CLOCK_MONOTONIC
		clock.readSuspends         golang.org/x/sys/unix.ClockGettime golang.org/x/sys/unix.Timespec golang.org/x/sys/unix.Timespec.Nano
		clock.system               github.com/jonboulle/clockwork.NewRealClock`,
	"on a clock that is not the simulator's, which has SleepContext and Go", `
		clock.Go     go
		clock.sleep  channel github.com/jonboulle/clockwork.Clock.NewTimer`,
	"drops the monotonic reading", `
		clock.Drifting  time.Time.Round`,
	"tickers and timers with a channel, which no process of a simulation gets", `
		clock.DriftingClock.newTimer  channel
		clock.driftingTimer           channel
		clock.driftingTimer.drop      channel
		clock.driftingTimer.fire      channel`,

	"forgets what time has made pointless, in any order", `
		redlock.Lane.sweep  map`,
	"the option is a float; it becomes parts per billion once, as the decimal that it is", `
		redlock.WithClockDriftFactor  float
		redlock.perBillion            float math.Round
		sim.Lock.factor               float`,
	"for production; a simulated client has its own", `
		redlock.config.rand  crypto/rand.Read`,
	"logs: nothing comes back from it", `
		redlock.Slog             log/slog.Logger
		redlock.levelOf          log/slog.Level log/slog.LevelDebug log/slog.LevelError log/slog.LevelWarn
		redlock.slogger          log/slog.Logger
		redlock.slogger.Observe  log/slog.Any log/slog.Attr log/slog.Default log/slog.Duration log/slog.Int
		redlock.slogger.Observe  log/slog.Logger.Enabled log/slog.Logger.LogAttrs log/slog.String`,
	"asks a real server, in production", `
		redlock.address          github.com/redis/go-redis/v9.Client.Options github.com/redis/go-redis/v9.ClusterClient.Options github.com/redis/go-redis/v9.Ring.Options
		redlock.newScript        github.com/redis/go-redis/v9.NewScript github.com/redis/go-redis/v9.Script.Hash
		redlock.probe.join       github.com/redis/go-redis/v9.Pipeliner.Process
		redlock.redisNode.Do     github.com/redis/go-redis/v9.Cmdable.Pipeline github.com/redis/go-redis/v9.Pipeliner.Exec github.com/redis/go-redis/v9.UniversalClient.Process
		redlock.redisNode.RunID  github.com/redis/go-redis/v9.Cmdable.Info
		redlock.redisNode.put    github.com/redis/go-redis/v9.Pipeliner.Process`,
	"the production transport", `
		redlock.call               channel
		redlock.call.recycle       channel sync.Pool.Put
		redlock.call.rouse         channel
		redlock.call.wait          channel
		redlock.transport          sync.Pool
		redlock.transport.Close    channel github.com/jonboulle/clockwork.Clock.NewTimer
		redlock.transport.linger   time.AfterFunc time.Now time.Time.Round
		redlock.transport.newCall  channel sync.Pool.Get
		redlock.worker             channel
		redlock.worker.close       channel
		redlock.worker.dismiss     channel
		redlock.worker.push        channel
		redlock.worker.rest        channel
		redlock.worker.yield       runtime.Gosched`,

	"drives the world, with a watchdog in real time", `
		sim.Runner.Run      runtime.Goexit
		sim.Runner.drive    go channel runtime.Gosched
		sim.Runner.watch    channel map time.NewTicker time.Ticker.Stop
		sim.routine.park    runtime.Goexit
		sim.routine.refused runtime.Goexit
		sim.world.unwind    go channel`,
	"stacks of goroutines, of a process that blocks or panics", `
		sim.allStacks       runtime.Stack
		sim.bubble.stacks   address
		sim.crew.join       address
		sim.goroutine       runtime.Stack
		sim.panicking       runtime.Callers runtime.CallersFrames runtime.Frame runtime.Frames.Next runtime.Function
		sim.world.panicked  runtime/debug.Stack`,
	"one runner a core; what they find is put in order", `
		sim.Search.Run   channel runtime.GOMAXPROCS sync.WaitGroup sync.WaitGroup.Go sync.WaitGroup.Wait
		sim.hunt         channel
		sim.hunt.gather  channel runtime.Goexit
		sim.hunt.try     channel
		sim.hunt.work    channel`,
	"the second engine: goroutines that the world lets go one at a time", `
		sim.Process.Dial             channel
		sim.batch                    channel
		sim.batch.Do                 channel
		sim.batch.finish             channel
		sim.bubble                   channel time.Timer
		sim.bubble.await             channel
		sim.bubble.close             channel time.Sleep
		sim.bubble.goOn              channel
		sim.bubble.now               time.Since
		sim.bubble.pass              channel time.Since time.Timer.Reset
		sim.bubble.poke              channel
		sim.bubble.run               channel time.NewTimer time.Now time.Timer.Stop redlock.NewTransport
		sim.bubble.strand            channel go
		sim.bubble.touch             channel
		sim.bubble.work              channel
		sim.bubble.write             channel
		sim.bubbleClock.Go           go
		sim.bubbleClock.SleepContext channel
		sim.bubbleTimer              channel
		sim.bubbleTimer.drain        channel
		sim.bubbleTimer.let          channel
		sim.bubbleTimer.send         channel
		sim.bubbleWrite              channel
		sim.bubbleWrite.Receive      channel
		sim.conn                     channel
		sim.conn.SetReadDeadline     time.Until
		sim.conn.await               channel
		sim.conn.poke                channel
		sim.strandTurn               channel
		sim.waiter                   channel
		sim.world.poll               channel`,
	"of a lock that has been given no clock; a simulated one is given its client's", `
		redlock.config.apply  clock.Boottime`,
	"files that are read before a run begins", `
		sim.Load         os.File.Close os.Open
		sim.LoadHistory  os.File.Close os.Open`,
	"where a text is looked for, which is not the number it gets", `
		sim.History.slot  hash/maphash.String
		sim.textSeed      hash/maphash.MakeSeed`,
	"with json.Deterministic", `
		sim.Scenario.AppendJSON  github.com/go-json-experiment/json.Marshal
		sim.recorder.line        github.com/go-json-experiment/json.Marshal`,
	"a year is the same wherever it is told in UTC", `
		sim.Process.reading  time.Time.Year`,
	"sorts the keys, or copies into another map", `
		sim.apart  reflect.Value.MapKeys
		sim.spots  reflect.Value.MapKeys`,
	"more than any number of runs", `
		sim.reduce  math.MaxInt`,

	"go-redis in the simulator: its connections are the simulator's", `
		sim/node/mini.New     github.com/alicebob/miniredis/v2.Miniredis.Dial github.com/redis/go-redis/v9.NewClient github.com/redis/go-redis/v9.hooksMixin.AddHook redlock.RedisNode
		sim/simredis.Client   github.com/redis/go-redis/v9.Client.Close github.com/redis/go-redis/v9.NewClient
		sim/simredis.silence  github.com/redis/go-redis/v9.SetLogger`,
	"a number of Lua's is a double, in Redis too: it carries whole ones", `
		sim/simredis.fromLua      float
		sim/simredis.server.call  float
		sim/simredis.toLua        float`,
)

// table reads lines of a package and what is allowed of it.
func table(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			all[f[0]] = append(all[f[0]], f[1:]...)
		}
	}
	return all
}

// exemptions reads pairs of a reason and lines of a declaration and what it breaks.
func exemptions(pairs ...string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		for in, what := range table(pairs[i+1]) {
			if all[in] == nil {
				all[in] = map[string]string{}
			}
			for _, w := range what {
				all[in][w] = pairs[i]
			}
		}
	}
	return all
}

func TestRulesOfDeterminism(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	used := map[string]bool{}
	for dir := range policed {
		files := r.files(t, dir, "", "")
		if len(files) == 0 {
			t.Errorf("no files in %s", dir)
		}
		for _, b := range r.breaches(module+dir, files) {
			if exempt[b.in][b.what] == "" {
				t.Error(b)
			}
			used[b.in+" "+b.what] = true
		}
	}
	if runtime.GOOS != "linux" {
		return // what is exempt in boottime_linux.go is not looked at
	}
	for in, broken := range exempt {
		for what := range broken {
			if !used[in+" "+what] {
				t.Errorf("%s is exempt, but breaks no rule by %s", in, what)
			}
		}
	}
}

// TestRulesReachEverything: no package of the three trees, and no file of a policed
// package, is out of the rules' sight unless it is named.
func TestRulesReachEverything(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	seen := map[string]bool{}
	for _, tree := range []string{"clock", "redlock", "sim"} {
		err := filepath.WalkDir(filepath.Join("..", tree), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			file := strings.TrimPrefix(filepath.ToSlash(path), "../")
			dir, name := file[:strings.LastIndex(file, "/")], d.Name()
			switch {
			case strings.HasSuffix(name, "_test.go") || !slices.Contains([]string{".go", ".s", ".c"}, filepath.Ext(name)):
				return nil
			case unpoliced[dir] != "":
				seen[dir] = true
			case policed[dir] == "":
				t.Errorf("%s: a package that is neither policed nor named as free of the rules", dir)
			case elsewhere[file] != "":
				seen[file] = true
			case !slices.Contains(r.packages[module+dir].GoFiles, name):
				t.Errorf("%s is in none of the builds that are looked at", file)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, named := range []map[string]string{unpoliced, elsewhere} {
		for what := range named {
			if !seen[what] {
				t.Errorf("%s is named, but not there", what)
			}
		}
	}
}

// TestProductionIsThere: what is refused by its name is called so.
func TestProductionIsThere(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	for what := range production {
		dir, name, _ := strings.Cut(what, ".")
		p, err := r.from.Import(module + dir)
		if err != nil || p.Scope().Lookup(name) == nil {
			t.Errorf("there is no %s (%v)", what, err)
		}
	}
}
