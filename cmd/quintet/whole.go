package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// unclaimed refuses a place where a file is, unless it may be replaced.
func unclaimed(path string, force bool) error {
	if _, err := os.Stat(path); err == nil && !force {
		return fmt.Errorf("%s is there already: give --force to replace it", path)
	}
	return nil
}

// writeWhole writes a file so that it is there whole or not at all.
func writeWhole(path string, fill func(*bufio.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
