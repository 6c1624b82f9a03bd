// Command pack makes the archive from which Grafana installs a plugin: one folder
// named after the plugin, back ends executable, and reproducible: the same sources
// make the same archive. It also writes the archive's checksums: SHA-1, which
// Grafana's catalogue asks for, and SHA-256.
package main

import (
	"archive/zip"
	"crypto/sha1"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", "dist", "what is packed")
	root := flag.String("root", "", "the folder in the archive")
	at := flag.Int64("time", 0, "the time of its files, in seconds since 1970")
	out := flag.String("o", "", "the archive")
	flag.Parse()
	err := pack(*dir, *root, *out, time.Unix(*at, 0).UTC())
	if err == nil {
		err = sum(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(dir, root, out string, at time.Time) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	z := zip.NewWriter(f)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(z, name, path.Join(root, filepath.ToSlash(strings.TrimPrefix(name, dir))), at)
	})
	if err != nil {
		return err
	}
	return z.Close()
}

// sum writes the archive's checksum files, in the format of sha1sum and sha256sum.
func sum(archive string) error {
	b, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	for name, digits := range map[string]string{"sha1": fmt.Sprintf("%x", sha1.Sum(b)), "sha256": fmt.Sprintf("%x", sha256.Sum256(b))} {
		if err := os.WriteFile(archive+"."+name, []byte(digits+"  "+filepath.Base(archive)+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func add(z *zip.Writer, from, name string, at time.Time) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
	h.SetMode(0o644)
	if strings.HasPrefix(path.Base(name), "gpx_") {
		h.SetMode(0o755)
	}
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}
