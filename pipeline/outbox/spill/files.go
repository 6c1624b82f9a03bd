package spill

import (
	"errors"
	"io"
	"os"
)

// Files is the file system below a spill.
type Files interface {
	// Open opens a file for reading; Create makes an empty one to write and read,
	// in the place of any of that name.
	Open(path string) (File, error)
	Create(path string) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	// Sizes lists the files of a directory by name, with their bytes.
	Sizes(dir string) (map[string]int64, error)
	// SyncDir makes the names in a directory safe against a power cut.
	SyncDir(dir string) error
}

// File is one file of Files. Sync makes its bytes safe against a power cut.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// machine is the file system of the machine.
type machine struct{}

// Open implements Files.
func (machine) Open(path string) (File, error) { return os.Open(path) }

// Create implements Files.
func (machine) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Rename implements Files.
func (machine) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Files.
func (machine) Remove(path string) error { return os.Remove(path) }

// Sizes implements Files.
func (machine) Sizes(dir string) (map[string]int64, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		out[f.Name()] = info.Size()
	}
	return out, nil
}

// SyncDir implements Files.
func (machine) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
