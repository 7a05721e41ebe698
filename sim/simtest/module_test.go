package simtest_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlock/sim"
)

// yours builds the module in testdata/yours in a folder of its own, as somebody who
// uses this one has it beside theirs.
func yours(t *testing.T) *module {
	t.Helper()
	m := &module{T: t, dir: t.TempDir()}
	if err := os.CopyFS(m.dir, os.DirFS("testdata/yours")); err != nil {
		t.Fatal(err)
	}
	m.begin("yours")
	if out, err := m.command("go", "test", "-c", "-o", "yours.test", ".").CombinedOutput(); err != nil {
		t.Fatalf("the module does not build: %v\n%s", err, out)
	}
	return m
}

// begin writes the module's go.mod and go.sum, as go mod tidy would but without a
// network: with all that this module needs.
func (m *module) begin(name string) {
	m.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		m.Fatal(err)
	}
	gomod := m.read(filepath.Join(root, "go.mod"))
	gomod = strings.Replace(gomod, "module driftlock\n", "module "+name+"\n\nrequire driftlock v0.0.0\n\nreplace driftlock => "+filepath.ToSlash(root)+"\n", 1)
	m.write("go.mod", gomod)
	m.write("go.sum", m.read(filepath.Join(root, "go.sum")))
}

// module is a folder with a package and its tests.
type module struct {
	*testing.T
	dir string
}

// in is the module in a subtest.
func (m *module) in(t *testing.T) *module { return &module{t, m.dir} }

func (m *module) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "PWD="+m.dir, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "DRIFTLOCK_SCENARIO=")
	return cmd
}

func (m *module) read(file string) string {
	m.Helper()
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	return string(text)
}

func (m *module) write(file, text string) {
	m.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, file), []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
}

// test runs one test of the module, and wants it to pass or to fail.
func (m *module) test(name string, passes bool, env ...string) (output string) {
	m.Helper()
	cmd := m.command(filepath.Join(m.dir, "yours.test"), "-test.v", "-test.run", "^"+name+"$", "-rapid.seed=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed || failed == passes {
		m.Errorf("%s: %v, should it pass: %v\n%s", name, err, passes, out)
	}
	if strings.Contains(string(out), "[recovered") || !strings.Contains(string(out), "--- ") {
		m.Errorf("%s died:\n%s", name, out)
	}
	return string(out)
}

// wants checks that a text has what it should.
func (m *module) wants(text string, patterns ...string) {
	m.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			m.Errorf("no %s in\n%s", p, text)
		}
	}
}

var (
	hashLine  = regexp.MustCompile(`(?m)^\s*Hash: +([0-9a-f]{16})$`)
	rerunLine = regexp.MustCompile(`(?m)^\s*Rerun: +(DRIFTLOCK_SCENARIO=.*)$`)
	headline  = regexp.MustCompile(`I\d \(\w+\) broke in [^,]*(, margin -\S+)`)
)

// TestModuleOfYourOwn goes the ways of somebody with a lock, and tests, of their own.
func TestModuleOfYourOwn(t *testing.T) {
	t.Parallel()
	m := yours(t)
	t.Run("lock", func(t *testing.T) { m.in(t).ownLock() })
	t.Run("failures", func(t *testing.T) { m.in(t).failuresOfCode() })
}

func (m *module) ownLock() {
	// The flaw is caught and shrunk, and the command that is printed, typed into a
	// shell, shows the same violation of the same run.
	for _, name := range []string{"TestOwnLock", "TestOwnLocker"} {
		out := m.test(name, false)
		file := "testdata/driftlock/" + name + ".json"
		m.wants(out, `I2 \(sound\) broke in scenario \d+ of drift \(-rapid\.seed=1\), margin -`, `BUG: `,
			`(?m)^ *Scenario: `+file+` \(3 nodes, 1 client; shrunk in \d+ steps from `)
		hash, rerun, line := hashLine.FindStringSubmatch(out), rerunLine.FindStringSubmatch(out), headline.FindStringSubmatch(out)
		if hash == nil || line == nil || rerun == nil || rerun[1] != "DRIFTLOCK_SCENARIO="+file+" go test -run '^"+name+"$' ." {
			m.Fatalf("%s prints no hash, no margin or not the command:\n%s", name, out)
		}
		again, err := m.command("sh", "-c", rerun[1]).CombinedOutput()
		if err == nil {
			m.Errorf("%s passes", rerun[1])
		}
		m.wants(string(again), `I2 \(sound\) broke in `+file+regexp.QuoteMeta(line[1]), `Hash: +`+hash[1], `(?m)^ *#\d+ .* c1 +holds "`)

		// Without the variable the same is tried first.
		m.wants(m.test(name, false), `I2 \(sound\) broke in the scenario that an earlier run has kept`, `Hash: +`+hash[1])
	}
	kept := m.read("testdata/driftlock/TestOwnLocker.json")

	// The scenarios go with the code's own TTL.
	m.test("TestOddTTL", false)
	m.wants(m.read("testdata/driftlock/TestOddTTL.json"), `"ttl": "7s"`)

	// A file that its test holds in says so, and is no obstacle.
	m.write("testdata/driftlock/TestHolds.json", kept)
	m.wants(m.test("TestHolds", true), `TestHolds.json, in which an earlier run failed, holds now`, `100 scenarios of drift\+200ppm held`)
	m.wants(m.test("TestHolds", true, "DRIFTLOCK_SCENARIO=testdata/driftlock/TestHolds.json"), `holds now, with this version of the code`, `c1 +holds "orders"`, `Hash: `)

	// Its run can be recorded, and stopped at a step.
	const one = "DRIFTLOCK_SCENARIO=testdata/driftlock/TestHolds.json"
	m.wants(m.test("TestHolds", true, one, "DRIFTLOCK_RECORD=run.history", "DRIFTLOCK_STOP=3"), `Recorded: replay run run\.history`)
	h, err := sim.LoadHistory(filepath.Join(m.dir, "run.history"))
	if err != nil || h.Len() == 0 {
		m.Errorf("the record: %v", err)
	}
	m.wants(m.test("TestHolds", false, one, "DRIFTLOCK_RECORD=nowhere/run.history"), `DRIFTLOCK_RECORD=nowhere/run\.history: .*no such file`)
	m.wants(m.test("TestHolds", false, one, "DRIFTLOCK_RECORD=go.mod"), `DRIFTLOCK_RECORD=go\.mod: that file is no recorded history`)
	m.wants(m.test("TestHolds", false, one, "DRIFTLOCK_STOP=x"), `DRIFTLOCK_STOP=x: the number of a step is expected`)

	// One that does not fit the code neither.
	m.write("testdata/driftlock/TestHolds.json", strings.Replace(kept, `"ttl"`, `"time_to_live"`, 1))
	m.wants(m.test("TestHolds", true), `TestHolds.json was kept by an earlier run and does not fit`, `lock.time_to_live: no such field`, `100 scenarios`)
	m.wants(m.test("TestHolds", false, "DRIFTLOCK_SCENARIO=testdata/driftlock/TestHolds.json"), `lock.time_to_live: no such field`, `does not fit this version of the code: mend it, or delete it`)
	m.wants(m.test("TestHolds", false, "DRIFTLOCK_SCENARIO=nowhere.json"), `nowhere.json: no such file`, `from the package's folder, `)
	m.wants(m.test("TestReplay", false, "YOURS_REPLAY=testdata/driftlock/TestHolds.json"), `no such field`, `mend it`)

	// A file checks itself: its lock breaks what it expects, another does not.
	m.wants(m.test("TestReplay", false, "YOURS_REPLAY=testdata/driftlock/TestOwnLocker.json"), `expected to break, but it held`, `c1 +holds "k"`)
	m.wants(m.test("TestReplayOwn", true, "YOURS_REPLAY=testdata/driftlock/TestOwnLocker.json"), `replayed: [0-9a-f]{16}, 1 leases`)

	m.wants(m.test("TestOwnLockReport", true), `\| yours +\| +\d+ of \d+ +\|`, `\| redlock `, `Broken where redlock is not:\n +\S+: I\d`, `s12-replies-in-kernel-buffer: I1 \(mutex\), I2 \(sound\)`, `Broken as redlock is:\n`)
	if _, err := os.Stat(filepath.Join(m.dir, "testdata", "rapid")); err == nil {
		m.Error("rapid has kept a file too")
	}
}

// failuresOfCode: whatever goes wrong in somebody's code is told with where it was,
// and kept.
func (m *module) failuresOfCode() {
	for _, c := range []struct {
		name string
		want []string
		kept string // the file, unless it is the test's name
	}{
		{"TestPanic", []string{`c1 panicked in scenario \d+ of drift\+0ppm \(-rapid\.seed=1\), at step \d+, true time \S+: assignment to entry in nil map`, `yours.TestPanic.func1`, `yours_test.go:\d+`,
			`\([5-7] nodes, 1 client; shrunk in \d+ steps from `}, ""},
		{"TestFatal", []string{`too many nodes`, `the code ended the test in scenario \d+ of drift\+0ppm \(-rapid\.seed=1\), at step \d+`}, ""},
		{"TestError", []string{`too many nodes`, `the code failed the test in scenario \d+ of drift\+0ppm`}, ""},
		{"TestStuck", []string{`blocks outside of Sleep and Broadcast`, `\[chan receive\]`, `yours.TestStuck.func1`}, ""},
		{"TestSub", []string{`I2 \(sound\) broke`}, "TestSub/a_name/with_%24pecial_%27characters%27"},
		{"TestAway", []string{`I2 \(sound\) broke`}, ""},
	} {
		if c.kept == "" {
			c.kept = c.name
		}
		out := m.test(c.name, false)
		m.wants(out, append(c.want, `Scenario: testdata/driftlock/`+c.kept+`\.json`)...)
		rerun := rerunLine.FindStringSubmatch(out)
		if rerun == nil {
			continue
		}
		again, err := m.command("sh", "-c", strings.Replace(rerun[1], "go test -run", "./yours.test -test.run", 1)).CombinedOutput()
		if err == nil || strings.Contains(string(again), "no tests to run") {
			m.Errorf("%s: passes, or runs no test: %s", rerun[1], again)
		}
		m.wants(string(again), c.want[0][:10])
	}
	for name, want := range map[string]string{
		"TestUnsteady":       `another run of it was not the same from step \d+ on\. The code hangs on more than its Process`,
		"TestNothingGranted": `no lock was granted in 100 scenarios of drift\+0ppm`,
	} {
		m.wants(m.test(name, false), want)
	}
	m.wants(m.test("TestSkip", true), `--- SKIP`, "not today")
}

var update = flag.Bool("update", false, "write what the commands print into docs/your-own-tests.md anew")

// varies is what is not held to: what every run measures anew, how many scenarios the
// catalogue has, and what a space drew before it was shrunk.
var varies = regexp.MustCompile(`\d+\.\d+s|\d+ of \d+|-{3,}| +\||in scenario \d+|[Ss]hrunk in \d+ steps from [^)]*|Shrunk from .*|\d+ leases.*`)

// TestDocs goes the way of docs/your-own-tests.md: its files are written as they
// stand there, and its commands print what stands below them.
func TestDocs(t *testing.T) {
	t.Parallel()
	const page = "../../docs/your-own-tests.md"
	m := &module{t, t.TempDir()}
	m.begin("orders")
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```")
	for i := 1; i < len(blocks); i += 2 {
		if file, ok := strings.CutPrefix(blocks[i], "go\n// "); ok {
			name, text, _ := strings.Cut(file, "\n")
			m.write(name, text)
			continue
		}
		line, want, _ := strings.Cut(strings.TrimPrefix(blocks[i], "\n"), "\n")
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out, _ := m.command("sh", "-c", command).CombinedOutput()
		blocks[i] = "\n" + line + "\n" + string(out)
		if got := varies.ReplaceAllString(string(out), "…"); got != varies.ReplaceAllString(want, "…") && !*update {
			t.Errorf("%s shows something else below %q (go test ./sim/simtest -run TestDocs -update):\n--- now\n%s--- there\n%s", page, command, out, want)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(blocks, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
