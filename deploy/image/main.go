// Command image writes a container image from scratch with one static binary, as
// an archive in the OCI image layout that podman, docker and skopeo read. Equal
// inputs give equal bytes.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 6 {
		fmt.Fprintln(os.Stderr, "usage: image OUT.tar VERSION SECONDS CERTIFICATES ARCH=BINARY...")
		os.Exit(2)
	}
	if err := build(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// build writes the archive: seconds are the time of every file since 1970, the
// certificates are a PEM file, and each program is ARCH=BINARY.
func build(path, version, seconds, certificates string, programs []string) error {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("seconds: %w", err)
	}
	roots, err := os.ReadFile(certificates)
	if err != nil {
		return err
	}
	l := layout{made: time.Unix(at, 0).UTC(), version: version, blobs: map[string][]byte{}}
	for _, p := range programs {
		arch, from, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%s: want ARCH=BINARY", p)
		}
		program, err := os.ReadFile(filepath.Clean(from))
		if err != nil {
			return err
		}
		if err := l.add(arch, roots, program); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	return create(path, l.write)
}

// create writes a file by a function, and removes it where that fails.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(f)
	if bad := f.Close(); err == nil {
		err = bad
	}
	if err != nil {
		_ = os.Remove(path) // the first error says why
	}
	return err
}
