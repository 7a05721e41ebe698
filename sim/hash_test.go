package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	_ "time/tzdata" // TestHashesAnywhere goes round the world
)

// hashOfSeeds folds the hashes of the first seeds of every space, each run twice;
// of the space of one class of faults, a few.
func hashOfSeeds(t *testing.T, seeds uint64) string {
	t.Helper()
	a, b := NewRunner(), NewRunner()
	defer a.Close()
	defer b.Close()
	var all hasher
	for _, sp := range Spaces() {
		some := seeds
		if sp.sure != 0 {
			some /= 50
		}
		for seed := uint64(1); seed <= some; seed++ {
			sc := Generate(sp, seed)
			x, err := a.Run(sc)
			if err != nil {
				t.Fatalf("%s %d: %v", sp.Name(), seed, err)
			}
			y, err := b.Run(sc)
			if err != nil {
				t.Fatalf("%s %d: %v", sp.Name(), seed, err)
			}
			if x.Hash() != y.Hash() {
				step, _ := FirstDifference(x, y)
				t.Fatalf("%s %d: run twice, it differs from step %d on:\n%+v\n%+v", sp.Name(), seed, step, x.Event(step), y.Event(step))
			}
			all.word(uint64(x.Hash()))
		}
	}
	return Hash(all.sum).String()
}

// TestTellIsAdd: an event of a message is hashed as any other is, though by hand. A
// history that is to stop at a step takes in all events the one way.
func TestTellIsAdd(t *testing.T) {
	t.Parallel()
	byHand, slow := NewRunner(), NewRunner()
	defer byHand.Close()
	defer slow.Close()
	slow.opts.stop = maxEvents
	for _, sp := range Spaces() {
		for seed := uint64(1); seed <= 5; seed++ {
			sc := Generate(sp, seed)
			x, err := byHand.Run(sc)
			if err != nil {
				t.Fatal(err)
			}
			if y, err := slow.Run(sc); err != nil || x.Hash() != y.Hash() {
				t.Fatalf("%s %d: hash %v by hand, %v otherwise (%v)", sp.Name(), seed, x.Hash(), y.Hash(), err)
			}
		}
	}
}

// hashesVariable has a process of the test print its hash and do nothing else.
const hashesVariable = "DRIFTLOCK_HASHES"

// hashSeeds is how many seeds of a space a hash is of.
const hashSeeds = 1000

// printsHash is true in a process that another one has started for its hash.
func printsHash(t *testing.T) bool {
	if os.Getenv(hashesVariable) == "" {
		return false
	}
	os.Stdout.WriteString("hash " + hashOfSeeds(t, hashSeeds) + "\n")
	return true
}

// sameHash runs a test binary for its hash, in that environment.
func sameHash(t *testing.T, how, want string, command []string, env []string) {
	t.Helper()
	cmd := exec.Command(command[0], append(command[1:], "-test.run=^TestHashesAnywhere$")...)
	cmd.Env = append(env, hashesVariable+"=1")
	out, err := cmd.CombinedOutput()
	if _, got, _ := strings.Cut(string(out), "hash "); err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("%s: %v, %s; here %s", how, err, out, want)
	}
}

// TestHashesAnywhere: the same seeds have the same hashes twice in a row, and in
// processes with one processor and without a garbage collector, on other sides of the
// world, with next to no environment and with a strange one.
func TestHashesAnywhere(t *testing.T) {
	if printsHash(t) {
		return
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("short")
	}
	want := hashOfSeeds(t, hashSeeds)
	for how, env := range map[string][]string{
		"one processor, in Tokyo": {"GOMAXPROCS=1", "TZ=Asia/Tokyo"},
		"two, in Newfoundland": {"GOMAXPROCS=2", "TZ=America/St_Johns", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8",
			"HOME=/nowhere", "USER=nobody", "TMPDIR=/nowhere", "PATH=", "DEBUG=1"},
		"no collector": append(os.Environ(), "GOGC=off"),
	} {
		sameHash(t, how, want, os.Args[:1], env)
	}
}

// TestHashesElsewhere: and with the race detector, and on other architectures, under
// qemu: of 64 and 32 bits, with weaker memory, and with the bytes the other way
// round. It builds a binary for each, so it is asked for with DRIFTLOCK_ELSEWHERE=1
// (.ci/run does). What the machine does not have is left out, and said.
func TestHashesElsewhere(t *testing.T) {
	if os.Getenv("DRIFTLOCK_ELSEWHERE") != "1" && !long() {
		t.Skip("DRIFTLOCK_ELSEWHERE=1 asks for it")
	}
	want := hashOfSeeds(t, hashSeeds)
	for _, e := range []struct {
		name, emulator string // none: it runs here
		flags, env     []string
	}{
		{"race", "", []string{"-race"}, []string{"CGO_ENABLED=1"}},
		{"arm64", "qemu-aarch64-static", nil, []string{"CGO_ENABLED=0", "GOARCH=arm64"}},
		{"arm", "qemu-arm-static", nil, []string{"CGO_ENABLED=0", "GOARCH=arm"}},
		{"s390x", "qemu-s390x-static", nil, []string{"CGO_ENABLED=0", "GOARCH=s390x"}},
	} {
		t.Run(e.name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "sim.test")
			command := []string{binary}
			if e.emulator != "" {
				path, err := exec.LookPath(e.emulator)
				if err != nil || runtime.GOOS != "linux" {
					t.Skipf("left out: no %s here (Debian has it in qemu-user-static)", e.emulator)
				}
				command = []string{path, binary}
			} else if _, err := exec.LookPath("gcc"); err != nil {
				t.Skip("left out: the race detector needs a C compiler")
			}
			build := exec.Command("go", append(append([]string{"test", "-c", "-o", binary}, e.flags...), ".")...)
			build.Env = append(os.Environ(), e.env...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", build.Args, err, out)
			}
			sameHash(t, e.name, want, command, os.Environ())
		})
	}
}
