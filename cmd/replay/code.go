package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"driftlock/sim"
)

// keptIn is where package simtest keeps what a test fails in, from the folder of the
// test's package.
const keptIn = "testdata/driftlock"

// hasSteps refuses a scenario in which no client has steps: nothing would happen in it,
// and that it holds would say nothing. What a test of code has kept is such a one.
func (sub *subject) hasSteps() error {
	if sub.recorded != nil || slices.ContainsFunc(sub.sc.Clients, func(c sim.Client) bool { return len(c.Steps) > 0 }) {
		return nil
	}
	what := sub.file
	if what == "" {
		what = sub.name
	}
	text := what + ": no client has steps, so that nothing would happen. If a test has kept it, what its clients do is the code of that test, which a file cannot hold"
	if e := sub.sc.Expect; e != nil && !e.OK {
		text += "; there it " + expectation(e)
	}
	return fail(statusMisuse, "%s\nTry: %s", text, sub.rerun())
}

// rerun is the command that runs a scenario with the code of the test that kept it.
func (sub *subject) rerun() string {
	argv := []string{"go", "test"}
	file, run, pkg := "FILE", "TEST", "PACKAGE"
	if before, after, ok := cutLast(filepath.ToSlash(filepath.Clean(sub.file)), keptIn+"/"); ok && (before == "" || strings.HasSuffix(before, "/")) {
		file, pkg = keptIn+"/"+after, "."
		if folder := filepath.Clean(before); folder != "." {
			argv = append(argv, "-C", folder)
		}
	} else if abs, err := filepath.Abs(sub.file); err == nil && sub.file != "" {
		file = abs // the test looks for it from the folder of its package
	}
	if strings.HasPrefix(sub.sc.Name, "Test") {
		parts := strings.Split(sub.sc.Name, "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		run = strings.Join(parts, "/")
	}
	argv = append(argv, "-run", run, pkg)
	return fmt.Sprintf("DRIFTLOCK_SCENARIO=%s %s", command([]string{file}), command(argv))
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
