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
	test := sub.sc.Name
	if !strings.HasPrefix(test, "Test") {
		test = ""
	}
	file, folder := "FILE", ""
	if sub.file != "" {
		file = sub.file
		if before, after, ok := cutLast(filepath.ToSlash(filepath.Clean(file)), keptIn+"/"); ok && (before == "" || strings.HasSuffix(before, "/")) {
			file, folder = keptIn+"/"+after, filepath.Clean(before)
		} else if abs, err := filepath.Abs(file); err == nil {
			file = abs // the test looks for it from the folder of its package
		}
	}
	argv := []string{"go", "test"}
	if folder != "" && folder != "." {
		argv = append(argv, "-C", folder)
	}
	if test != "" {
		parts := strings.Split(test, "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		argv = append(argv, "-run", strings.Join(parts, "/"))
	} else {
		argv = append(argv, "-run", "TEST")
	}
	if folder == "" {
		argv = append(argv, "PACKAGE")
	} else {
		argv = append(argv, ".")
	}
	return fmt.Sprintf("DRIFTLOCK_SCENARIO=%s %s", command([]string{file}), command(argv))
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
