package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/quintet-dc/quintet/collectors"
)

// tree is a sysfs tree. Names are relative to its root, parted by '/'.
type tree interface {
	open(name string) (openFile, error)
	list(name string) ([]string, error) // in order; links are followed
	link(name string) (string, error)   // where a symbolic link points
}

// openFile is an open file that is read from its beginning again and again.
type openFile interface {
	read(buf []byte) (int, error)
	close()
}

// disk is a tree in the file system.
type disk struct{ root string }

func (d disk) list(name string) ([]string, error) {
	entries, err := os.ReadDir(path.Join(d.root, name))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (d disk) link(name string) (string, error) { return os.Readlink(path.Join(d.root, name)) }

// isDir reports whether a name can be listed.
func isDir(t tree, name string) bool {
	_, err := t.list(name)
	return err == nil
}

// maxText bounds the bytes that are read of a text file; an attribute is at most a
// page.
const maxText = 4096

// readText reads a whole attribute once.
func readText(t tree, name string) (string, error) {
	h, err := t.open(name)
	if err != nil {
		return "", err
	}
	defer h.close()
	buf := make([]byte, maxText)
	n, err := h.read(buf)
	if err != nil {
		return "", err
	}
	return string(trim(buf[:n])), nil
}

// reasonOf returns the reason why a file could not be read. It does not allocate.
func reasonOf(err error) collectors.Reason {
	var errno syscall.Errno
	if e, ok := err.(syscall.Errno); ok { // the usual case, and errors.As allocates
		errno = e
	} else if !errors.As(err, &errno) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return collectors.Vanished
		case errors.Is(err, fs.ErrPermission):
			return collectors.Denied
		}
		return collectors.Unreadable
	}
	switch errno {
	case syscall.ENOENT, syscall.ENODEV, syscall.ENXIO:
		return collectors.Vanished
	case syscall.EACCES, syscall.EPERM:
		return collectors.Denied
	case syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.ENOTTY:
		return collectors.Unsupported
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return collectors.OverLimit
	}
	return collectors.Unreadable
}
