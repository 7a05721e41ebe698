package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keep writes a scenario to a file of its own in the current folder: name.json.
func keep(name string, text []byte) (string, error) {
	return keepAs(name, ".json", func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// keepAs writes what fill gives to a file in the current folder, which is called
// name and then ext, or if another text is there already, name-2 and so on. It
// returns the file's name. A file is there whole or not at all.
func keepAs(name, ext string, fill func(io.Writer) error) (file string, err error) {
	folder := filepath.Dir(name)
	defer func() {
		if bad, ok := errors.AsType[*fs.PathError](err); ok { // of a file that is none of the user's
			err = fmt.Errorf("%w; go to a folder in which you may write, or make room", bad.Err)
		}
	}()
	temp, err := os.CreateTemp(folder, ".driftlock-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	ctx, stop := untilInterrupted(context.Background())
	defer stop()
	err = fill(&interruptible{temp, ctx})
	if e := temp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return "", err
	}
	if err := os.Chmod(temp.Name(), 0o644); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		file := name + ext
		if n > 1 {
			file = fmt.Sprintf("%s-%d%s", name, n, ext)
		}
		switch err := claim(temp.Name(), file); {
		case err == nil:
			return file, nil
		case !errors.Is(err, os.ErrExist):
			return "", err
		case sameText(temp.Name(), file):
			return file, nil
		}
	}
}

// replace gives a file another text: the old or the new one is there whole. Behind a
// link it is the file that the link leads to. A device is refused.
func replace(file string, text []byte) error {
	return replaceBy(file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// replaceBy is replace with what fill writes.
func replaceBy(file string, fill func(io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(file); err == nil {
		file = to
	}
	if isDevice(file) {
		return fmt.Errorf("%s is no ordinary file", file)
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".driftlock-*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // in vain if all goes well
	err = fill(next)
	if err = errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}

// isDevice says that there is something that is no ordinary file.
func isDevice(file string) bool {
	was, err := os.Stat(file)
	return err == nil && !was.Mode().IsRegular()
}

// interruptible is a file whose writing an interrupt ends, so that what is half
// written can be taken away.
type interruptible struct {
	w   io.Writer
	ctx context.Context
}

func (i *interruptible) Write(b []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, errors.New("interrupted")
	}
	return i.w.Write(b)
}

// claim gives a file another name, if no file has that yet.
func claim(temp, file string) error {
	err := os.Link(temp, file)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	// A file system without links: an empty file holds the place.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		os.Remove(file)
	}
	return err
}

// sameText says whether two files have the same text.
func sameText(one, two string) bool {
	a, err := os.Open(one)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := os.Open(two)
	if err != nil {
		return false
	}
	defer b.Close()
	x, y := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err1 := io.ReadFull(a, x)
		m, err2 := io.ReadFull(b, y)
		switch {
		case !bytes.Equal(x[:n], y[:m]):
			return false
		case err1 != nil:
			return err1 == err2 && (err1 == io.EOF || err1 == io.ErrUnexpectedEOF)
		}
	}
}
