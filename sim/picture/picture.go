// Package picture writes a run as a page to look at, and as a trace for Perfetto.
//
// The page is one file with everything in it: it loads nothing, needs no server and
// works from disk. What it says in words is what package timeline says; what it
// draws is the history, all of it. The code of the page is in the folder page,
// written by hand; a run is put into it as data (run.go), never as markup.
package picture

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"driftlock/sim"
)

// Options are what a picture says beside the run and its verdict.
type Options struct {
	Title   string     // of the page; the scenario's name if empty
	Command string     // replays the run
	Failure string     // what else went wrong, in a line: the page says that first
	Tried   sim.Factor // a drift factor with which the scenario was run and held; 0: none was
}

//go:embed page
var files embed.FS

// scripts are the files of the page's code, in the order in which they stand there.
var scripts = []string{"data.js", "words.js", "view.js", "draw.js", "bars.js", "panels.js", "keys.js", "main.js"}

// HTML writes the page of a run. It opens at the first violation of the verdict.
// The error is the writer's.
func HTML(w io.Writer, h *sim.History, v sim.Verdict, o Options) error {
	if o.Title == "" {
		o.Title = h.Scenario().Name
	}
	if o.Title == "" {
		o.Title = "a run"
	}
	style, script := file("style.css"), code()
	// Only this very script runs, and nothing is loaded from anywhere.
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s", digest(style), digest(script))
	head, tail, _ := strings.Cut(file("page.html"), "{{run}}")
	head = strings.NewReplacer(
		"{{title}}", html.EscapeString(o.Title),
		"{{policy}}", html.EscapeString(policy),
		"{{style}}", style,
	).Replace(head)
	tail = strings.Replace(tail, "{{script}}", script, 1)

	var b bytes.Buffer
	b.WriteString(head)
	b.Write(appendRun(nil, h, v, o))
	b.WriteString(tail)
	_, err := b.WriteTo(w)
	return err
}

func file(name string) string {
	text, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// code is all of the page's code, in a scope of its own.
func code() string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range scripts {
		b.WriteString(file(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// digest names an inline text in a Content-Security-Policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
