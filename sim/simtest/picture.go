package simtest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"driftlock/sim"
	"driftlock/sim/picture"
)

// htmlFlag names where a picture of what fails is to be drawn.
var htmlFlag = flag.String("driftlock.html", "", "draw the run in which a test fails as a page for the browser in this `file`; in a folder, a page for each test")

// drawn are the files that this process has drawn, and for which test.
var drawn = struct {
	sync.Mutex
	by map[string]string
}{by: map[string]string{}}

// pictureOf is the file for the picture of a test, from the folder of the package: the
// one that was asked for, or if that is a folder or another test's, one with the name
// of the test.
func pictureOf(asked, test string) string {
	name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(fileOf(test), "testdata/driftlock/"), ".json"), "/", "-")
	if d, err := os.Stat(path(asked)); err == nil && d.IsDir() || strings.HasSuffix(filepath.ToSlash(asked), "/") {
		return filepath.ToSlash(filepath.Join(asked, name+".html"))
	}
	drawn.Lock()
	defer drawn.Unlock()
	if by, ok := drawn.by[asked]; ok && by != test {
		ext := filepath.Ext(asked)
		return strings.TrimSuffix(asked, ext) + "-" + name + ext
	}
	drawn.by[asked] = test
	return asked
}

// draw draws a run, if that is asked for, and says where in a line.
func draw(test string, h *sim.History, v sim.Verdict, o picture.Options) string {
	if *htmlFlag == "" {
		return "Picture:  add -driftlock.html=picture.html\n"
	}
	file := pictureOf(*htmlFlag, test)
	if err := drawFile(path(file), h, v, o); err != nil {
		return "Picture:  none: " + err.Error() + "\n"
	}
	return "Picture:  " + file + "\n"
}

func drawFile(file string, h *sim.History, v sim.Verdict, o picture.Options) error {
	if !picture.MayReplace(file, picture.IsPage) {
		return errors.New(file + " is no page that a test has drawn, and would be written over")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = picture.HTML(f, h, v, o)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
