package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"driftlock/sim"
	"driftlock/sim/picture"

	"github.com/spf13/cobra"
)

// pictures are the files in which runs are drawn. A command that draws several gives
// those after the first a number.
type pictures struct {
	html, perfetto string
	drawn          int
}

func (p *pictures) wanted() bool { return p.html != "" || p.perfetto != "" }

// flags adds the options of pictures to a command.
func (p *pictures) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.html, "html", "", "draw the run in this `file`, a page for the browser that needs nothing else")
	cmd.Flags().StringVar(&p.perfetto, "perfetto", "", "write the run to this `file` as a trace that https://ui.perfetto.dev opens")
	cmd.MarkFlagFilename("html", "html")
	cmd.MarkFlagFilename("perfetto", "json")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error { return p.check(cmd, args) }
}

// check refuses what cannot be drawn before anything is run.
func (p *pictures) check(cmd *cobra.Command, args []string) error {
	for _, x := range []struct {
		flag, file string
		is         func([]byte) bool
		what       string
	}{{"--html", p.html, picture.IsPage, "page"}, {"--perfetto", p.perfetto, picture.IsTrace, "trace"}} {
		if x.file == "" {
			if cmd.Flags().Changed(x.flag[2:]) {
				return fmt.Errorf("%s %q: the name of a file is expected", x.flag, x.file)
			}
			continue
		}
		if print := cmd.Flags().Lookup("print"); print != nil && print.Changed {
			return fmt.Errorf("%s and --print, which draws nothing: one of them, please", x.flag)
		}
		if x.file == "-" {
			return fmt.Errorf("%s -: the name of a file is expected", x.flag)
		}
		if d, err := os.Stat(filepath.Dir(x.file)); err != nil || !d.IsDir() {
			return fmt.Errorf("%s %s: there is no folder %s", x.flag, x.file, filepath.Dir(x.file))
		}
		if d, err := os.Stat(x.file); err == nil && d.IsDir() {
			return fmt.Errorf("%s %s: that is a folder; the name of a file is expected", x.flag, x.file)
		}
		for _, arg := range args {
			if sameFile(arg, x.file) {
				return fmt.Errorf("%s %s: that is what is run, and would be written over; name another file", x.flag, x.file)
			}
		}
		if !picture.MayReplace(x.file, x.is) {
			return fmt.Errorf("%s %s: that file is no %s that replay has drawn, and would be written over; name another, or remove it", x.flag, x.file, x.what)
		}
	}
	if p.html != "" && filepath.Clean(p.html) == filepath.Clean(p.perfetto) {
		return errors.New("--html and --perfetto name the same file")
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// one refuses pictures of several runs.
func (p *pictures) one(runs int) error {
	if p.wanted() && runs != 1 {
		return errors.New("--html and --perfetto draw one run: a NAME is expected, of one scenario")
	}
	return nil
}

// draw writes the pictures that are wanted of a run, and says where they are.
func (a *app) draw(w *stream, sub subject, h *sim.History, v sim.Verdict, tried sim.Factor) error {
	p := &a.pictures
	if !p.wanted() {
		return nil
	}
	p.drawn++
	if p.html != "" {
		o := picture.Options{Title: sub.name, Command: command(sub.argv), Tried: tried}
		file, err := p.write(p.html, picture.IsPage, func(w io.Writer) error { return picture.HTML(w, h, v, o) })
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "Page:   %s (open it in a browser)\n", file)
	}
	if p.perfetto != "" {
		file, err := p.write(p.perfetto, picture.IsTrace, func(w io.Writer) error { return picture.Perfetto(w, h, v) })
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "Trace:  %s (open it at https://ui.perfetto.dev)\n", file)
	}
	return nil
}

// write writes one file. A picture that was there is replaced, and left alone if that
// fails; a device is written to. What else was there stays: of the files with numbers
// the next one is taken.
func (p *pictures) write(file string, is func([]byte) bool, draw func(io.Writer) error) (string, error) {
	if p.drawn > 1 {
		ext := filepath.Ext(file)
		stem := strings.TrimSuffix(file, ext)
		for file = p.numbered(stem, ext); !picture.MayReplace(file, is); file = p.numbered(stem, ext) {
			p.drawn++
		}
	}
	if !picture.MayReplace(file, is) { // since check looked
		return "", fail(statusMisuse, "%s has another text, and would be written over", file)
	}
	fill := replaceBy
	if isDevice(file) {
		fill = into
	}
	if err := fill(file, draw); err != nil {
		return "", fail(statusFault, "%s could not be written: %w", file, err)
	}
	return file, nil
}

func (p *pictures) numbered(stem, ext string) string {
	return fmt.Sprintf("%s-%d%s", stem, p.drawn, ext)
}

// into writes to a device, such as /dev/stdout.
func into(file string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
