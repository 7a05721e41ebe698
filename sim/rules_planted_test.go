package sim

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// planted are the packages that the planted breaches import, if the policed ones do not.
var planted = []string{
	"driftlock/redlock/dialect",
	"crypto/rand", "hash/maphash", "maps", "math", "math/cmplx", "math/rand/v2", "net/url", "os", "reflect", "runtime", "sync", "syscall", "unsafe",
}

// plantedBreaches are code, and by what it must be refused: the beginning of what is said.
var plantedBreaches = []struct{ what, imports, code string }{
	// Maps have no order.
	{"map", "", `type m map[string]int; type s struct{ m m }; func f(x *s) { for range x.m { } }`},
	{"map", "", `func f[M ~map[K]V, K comparable, V any](m M) { for range m { } }`},
	{"map", "", `type set interface { ~map[string]int }; type more interface { any; set }; func f[M more](m M) { for range m { } }`},
	{"map", "", `type m = map[string]int; func f(x m) { for range x { } }`},
	{"map", "net/url", `func f(v url.Values) { for range v { } }`},
	{"map", "driftlock/sim/network", `func f(c network.Config) { for range c.Paths { } }`},
	{"map", "github.com/redis/go-redis/v9", `func f(c *redis.RingOptions) { for range c.Addrs { } }`},
	{"maps.Keys", "maps", `func f(m map[string]int) { for range maps.Keys(m) { } }`},
	{"maps.Values", "maps", `func f(m map[string]int) { for range maps.Values(m) { } }`},
	{"maps.All", "maps", `func f(m map[string]int) { for range maps.All(m) { } }`},
	{"maps.Values", "maps slices", `func f(m map[string]int) []int { return slices.Collect(maps.Values(m)) }`},
	{"maps.Keys", "maps slices", `func f(m map[*int]int) []*int { return slices.SortedFunc(maps.Keys(m), func(a, b *int) int { return *a - *b }) }`},
	{"maps.DeleteFunc", "maps", `func f(m map[string]int) { n := 0; maps.DeleteFunc(m, func(string, int) bool { n++; return n > 1 }) }`},
	{"reflect.Value.MapRange", "reflect", `func f(m any) { for i := reflect.ValueOf(m).MapRange(); i.Next(); { } }`},
	{"reflect.Value.MapKeys", "reflect", `func f(m any) reflect.Value { return reflect.ValueOf(m).MapKeys()[0] }`},
	{"reflect.Value.Seq2", "reflect", `func f(m any) { for range reflect.ValueOf(m).Seq2() { } }`},
	{"sync.Map.Range", "sync", `func f(m *sync.Map) { m.Range(func(k, v any) bool { return false }) }`},
	{"github.com/go-json-experiment/json.Marshal", "github.com/go-json-experiment/json", `func f(m map[string]int) { json.Marshal(m) }`},

	// Real time, and where on earth it is.
	{"time.Now", "time", `var x = time.Now()`},
	{"time.Now", "time", `var now = time.Now`},
	{"time.Now", "tm=time", `var x = tm.Now()`},
	{"time.Now", ".=time", `var x = Now()`},
	{"time.Sleep", "time", `func f() { time.Sleep(1) }`},
	{"time.After", "time", `func f() { f := time.After; _ = f }`},
	{"time.Time.Hour", "time", `func f(n int64) int { return time.Unix(0, n).Hour() }`},
	{"time.Unix", "time", `func f(n int64) time.Time { return time.Unix(0, n) }`},
	{"time.Time.Format", "time", `func f(t time.Time) string { return t.Format("15") }`},
	{"time.Local", "time", `func f() *time.Location { return time.Local }`},
	{"github.com/jonboulle/clockwork.NewRealClock", "github.com/jonboulle/clockwork", `var x = clockwork.NewRealClock().Now()`},
	{"github.com/jonboulle/clockwork.FromContext", "context github.com/jonboulle/clockwork", `func f(ctx context.Context) any { return clockwork.FromContext(ctx).Now() }`},
	{"clock.Boottime", "driftlock/clock", `var x = clock.Boottime()`},
	{"context.WithTimeout", "context", `func f(ctx context.Context) { _, stop := context.WithTimeout(ctx, 1); stop() }`},
	{"context.WithDeadlineCause", "context time", `func f(ctx context.Context, t time.Time) { _, stop := context.WithDeadlineCause(ctx, t, nil); stop() }`},
	{"syscall.Gettimeofday", "syscall", `func f() { var t syscall.Timeval; syscall.Gettimeofday(&t) }`},
	{"linkname", "_=unsafe", "//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64"},
	{"body elsewhere", "", `func nanotime() int64`},

	// Chance.
	{"math/rand/v2.Int", "math/rand/v2", `var x = rand.Int()`},
	{"math/rand/v2.Int", ".=math/rand/v2", `var x = Int()`},
	{"crypto/rand.Read", "crypto/rand", `func f(b []byte) { rand.Read(b) }`},
	{"hash/maphash.String", "hash/maphash", `func f(s string) uint64 { return maphash.String(maphash.MakeSeed(), s) }`},
	{"hash/maphash.Comparable", "hash/maphash", `func f(seed maphash.Seed, n int) uint64 { return maphash.Comparable(seed, n) }`},

	// Goroutines and channels: the order is the scheduler's.
	{"go", "", `func f() { go f() }`},
	{"sync.WaitGroup.Go", "sync", `func f(w *sync.WaitGroup) { w.Go(func() { }) }`},
	{"sync.WaitGroup.Go", "sync", `type group struct { sync.WaitGroup }; func f(w *group) { w.Go(func() { }) }`},
	{"context.AfterFunc", "context", `func f(ctx context.Context) { context.AfterFunc(ctx, func() { }) }`},
	{"github.com/jonboulle/clockwork.NewRealClock", "driftlock/clock github.com/jonboulle/clockwork", `func f() { clock.Go(clockwork.NewRealClock(), f) }`},
	{"redlock.NewTransport", "driftlock/redlock github.com/jonboulle/clockwork", `func f(c clockwork.Clock) any { return redlock.NewTransport(nil, c) }`},
	{"channel", "", `func f(c chan int) { <-c }`},
	{"channel", "", `func f() { make(chan int, 1) <- 1 }`},
	{"channel", "", `func f() { select { } }`},
	{"channel", "", `func f[C ~chan int](c C) { for range c { } }`},
	{"channel", "context", `func f(ctx context.Context) { for range ctx.Done() { } }`},
	{"channel", "github.com/jonboulle/clockwork", `func f(t clockwork.Timer) { for range t.Chan() { } }`},
	{"reflect.Select", "reflect", `func f(c []reflect.SelectCase) { reflect.Select(c) }`},

	// Floats, which differ in their last bit from machine to machine.
	{"float", "", `func g() (f float64) { return }; func f(x int64) int64 { return x * int64(g()) }`},
	{"float", "", `func f(x int64) int64 { return int64(float32(x) * 1.5) }`},
	{"float", "", `type seconds float64; func f(x seconds) bool { return x > 1 }`},
	{"float", "", `func f[F ~float32 | ~float64](x F) int64 { return int64(x) }`},
	{"float", "", `func f(x complex128) bool { return x == 1 }`},
	{"float", "time", `func f(d time.Duration) int64 { return int64(d.Seconds() * 1000) }`},
	{"float", "math", `func f() int64 { return int64(math.Sqrt(2) * 1000) }`},
	{"math.Log", "math", `func f() func(float64) float64 { return math.Log }`},
	{"float", "math/rand/v2", `func f(r *rand.Rand) bool { return r.Float64() < 0.5 }`},
	{"float", "strconv", `func f() bool { x, _ := strconv.ParseFloat("1.5", 64); return x > 1 }`},
	{"float", "strconv", `func f() bool { x, err := strconv.ParseFloat("1.5", 64); _ = x; return err == nil }`},

	// Where things are in memory.
	{"address", "fmt", `func f(x *int) string { return fmt.Sprintf("%p", x) }`},
	{"address", "fmt", `const at = "at %-10p"; func f(x *int) string { return fmt.Sprintf(at, x) }`},
	{"address", "fmt", `func f(x *int) string { return fmt.Sprint("at ", x) }`},
	{"address", "fmt", `type s struct { n int; next *s }; func f(x s) string { return fmt.Sprintf("%v", x) }`},
	{"address", "fmt", `func f(x []*int) error { return fmt.Errorf("%v", x) }`},
	{"address", "driftlock/sim", `func f(p *sim.Process, x **int) { p.Logf("%v", x) }`},
	{"unsafe.Pointer", "unsafe", `func f(a, b *int) bool { return uintptr(unsafe.Pointer(a)) < uintptr(unsafe.Pointer(b)) }`},
	{"reflect.Value.Pointer", "reflect", `func f(a any) uintptr { return reflect.ValueOf(a).Pointer() }`},

	// The machine, and who started the program.
	{"os.Getenv", "os", `var x = os.Getenv("HOME")`},
	{"os.Getpid", "os", `var x = os.Getpid()`},
	{"os.ReadFile", "os", `func f() { os.ReadFile("x") }`},
	{"runtime.NumCPU", "runtime", `var x = runtime.NumCPU()`},
	{"runtime.NumGoroutine", "runtime", `var x = runtime.NumGoroutine()`},
	{"runtime.GOARCH", "runtime", `var x = runtime.GOARCH`},
	{"runtime.ReadMemStats", "runtime", `func f() uint64 { var m runtime.MemStats; runtime.ReadMemStats(&m); return m.Mallocs }`},
	{"runtime.AddCleanup", "runtime", `func f(x *int) { runtime.AddCleanup(x, func(int) { }, 1) }`},
	{"sync.Pool.Get", "sync", `func f(p *sync.Pool) any { return p.Get() }`},
	{"encoding/binary.NativeEndian", "encoding/binary", `func f(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }`},
	{"math/bits.UintSize", "math/bits", `var x = bits.UintSize`},

	// What nobody has looked at.
	{"redlock/dialect.CheckName", "driftlock/redlock/dialect", `var x = dialect.CheckName("helper", "of nobody's")`},
	{"driftlock/redlock/dialect", "_=driftlock/redlock/dialect", ``},
	{"does not compile", "golang.org/x/sync/errgroup", `func f(g *errgroup.Group) { g.Go(nil) }`},
	{"does not compile", "github.com/google/uuid", `var x = uuid.New()`},
	{"does not compile", "C", `var x = C.time(nil)`},
}

// harmless is code that breaks no rule.
var harmless = []struct{ imports, code string }{
	{"", `func f(x []int) int64 { for range x { }; return int64(len(x)) * 1e9 }`},
	{"", `func f[S ~[]E, E any](s S) { for range s { } }`},
	{"", `const half = 0.5; func f() int64 { return int64(half * 4) }`},
	{"maps slices", `func f(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }`},
	{"maps slices", `func f(m map[string]int) []int { return slices.Sorted(maps.Values(m)) }`},
	{"time", `func f(n int64) time.Time { return time.Unix(0, n).UTC() }`},
	{"fmt", `func f(x *struct{ n int }, err error, d []string) string { return fmt.Sprintf("%v %v %d%%, pq", x, err, d) }`},
	{"context", `func f(ctx context.Context) error { return context.Cause(ctx) }`},
	{"driftlock/clock github.com/jonboulle/clockwork", `func f(c clockwork.Clock) { clock.Go(c, func() { }) }`},
}

// ofPackage are the breaches of a package of one file.
func ofPackage(t *testing.T, r *rules, imports, code string) (found []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("package p\n")
	for _, i := range strings.Fields(imports) {
		name, path, ok := strings.Cut(i, "=")
		if !ok {
			name, path = "", name
		}
		b.WriteString("import " + name + " \"" + path + "\"\n")
	}
	b.WriteString(code + "\n")
	for _, x := range r.breaches(module+"p", []*ast.File{r.parsed(t, "p.go", b.String())}) {
		found = append(found, x.what)
	}
	return found
}

// TestRulesCatch plants each breach.
func TestRulesCatch(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	for _, p := range plantedBreaches {
		found := ofPackage(t, r, p.imports, p.code)
		if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, p.what) }) {
			t.Errorf("%s is not caught in %q: %q", p.what, p.code, found)
		}
		compiles := !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, "does not compile") })
		if compiles == (p.what == "does not compile") && !strings.Contains(p.code, "func nanotime() int64") {
			t.Errorf("%q: %q", p.code, found)
		}
	}
	for _, h := range harmless {
		if found := ofPackage(t, r, h.imports, h.code); len(found) > 0 {
			t.Errorf("false alarm: %q in %q", found, h.code)
		}
	}
}
