package scenario

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// File is a scenario beside a signature.
type File struct {
	Path     string // in the file system given
	Fault    string // the folder's name: the signature it proves
	Fires    bool   // fires-*.txtar; else silent-*.txtar
	Scenario *Scenario
}

// maxBytes bounds a scenario's file.
const maxBytes = 4 << 20

// Files reads every fires-*.txtar and silent-*.txtar under a root, by path.
// What is wrong with any of them is one error, an Errors; the others are
// returned.
func Files(root fs.FS) ([]File, error) {
	var out []File
	var errs Errors
	fail := func(name string, err error) {
		if es, ok := err.(Errors); ok {
			errs = append(errs, es...)
		} else if err != nil {
			errs = append(errs, Error{File: name, Text: err.Error()})
		}
	}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		fires, silent := strings.HasPrefix(base, "fires-"), strings.HasPrefix(base, "silent-")
		if err != nil || d.IsDir() || !strings.HasSuffix(base, ".txtar") || !fires && !silent {
			fail(name, err)
			return nil
		}
		f := File{Path: name, Fault: path.Base(path.Dir(name)), Fires: fires}
		if f.Scenario, err = open(root, name); err == nil {
			err = f.proves()
		}
		if err != nil {
			fail(name, err)
			return nil
		}
		out = append(out, f)
		return nil
	})
	fail(".", err)
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	if len(errs) > 0 {
		return out, errs
	}
	return out, nil
}

func open(root fs.FS, name string) (*Scenario, error) {
	info, err := fs.Stat(root, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", info.Size(), maxBytes)
	}
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	return Parse(name, b)
}

// proves checks that a file states what its name says: a fires- file wants its
// folder's fault, a silent- file does not. In a folder without a name (".")
// anything goes.
func (f *File) proves() error {
	wants := slices.ContainsFunc(f.Scenario.Wants, func(w Want) bool {
		return !w.No && w.What != "finding" && slices.Contains(w.Signatures, f.Fault)
	})
	switch {
	case f.Fault == "." || wants == f.Fires, f.Fires && f.Fault == explain.Unknown:
		return nil
	case f.Fires:
		return fmt.Errorf("a scenario that fires, but nothing with signature %s is wanted", f.Fault)
	}
	return fmt.Errorf("a scenario that stays silent, but signature %s is wanted", f.Fault)
}
