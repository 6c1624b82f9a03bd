//go:build !unix

package sysfs

import (
	"errors"
	"io"
	"os"
	"path"
)

type descriptor struct{ file *os.File }

func (d disk) open(name string) (held, error) {
	f, err := os.Open(path.Join(d.root, name))
	if err != nil {
		return nil, err
	}
	return descriptor{f}, nil
}

func (d descriptor) read(buf []byte) (int, error) {
	n, err := d.file.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (d descriptor) close() { d.file.Close() }
