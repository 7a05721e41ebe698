package simtest

// Where a test keeps the scenario that it fails in, and the command that runs it
// again. Both are the same each time, so that a file is replaced and not joined by
// another, and a command can be copied from an old log.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"driftlock/sim"
)

// scenarioVariable names the scenario file to run, from the folder of the package.
const scenarioVariable = "DRIFTLOCK_SCENARIO"

// home is the folder of the package under test, in which go test starts it. A test
// may go elsewhere.
var home, _ = os.Getwd()

// path is a file of the package, wherever the test is now.
func path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(home, file)
}

// fileOf is the file of a test, with slashes. That of a subtest is in a folder of
// its test's name.
func fileOf(test string) string {
	parts := strings.Split(test, "/")
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	return "testdata/driftlock/" + strings.Join(parts, "/") + ".json"
}

// plain makes a part of a test's name one of a file's, on every system. What is
// neither letter, digit, '-' nor '_' is written as %XX; a '.' may not come first.
func plain(part string) string {
	var b strings.Builder
	for _, r := range part {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' && b.Len() > 0 {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return "%"
	}
	return b.String()
}

// rerun is the command that runs a test with one scenario.
func rerun(test, file string) string {
	parts := strings.Split(test, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	if !regexp.MustCompile(`^[\w./%-]+$`).MatchString(file) {
		file = quoted(file)
	}
	return fmt.Sprintf("%s=%s go test -run %s .", scenarioVariable, file, quoted(strings.Join(parts, "/")))
}

// quoted is a word for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// keep writes the file of a test.
func keep(file string, sc sim.Scenario) error {
	if err := os.MkdirAll(filepath.Dir(path(file)), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path(file), sc.AppendJSON(nil), 0o666)
}

// load reads a scenario file; there is none if the error is os.ErrNotExist.
func load(file string) (sim.Scenario, error) {
	sc, err := sim.Load(path(file))
	if errors.Is(err, os.ErrNotExist) && !filepath.IsAbs(file) {
		err = fmt.Errorf("%w (from the package's folder, %s)", err, home)
	}
	return sc, err
}
