package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// page is the files of the web page, in memory, as they are sent.
type page struct {
	files map[string]*file
}

// file is one of them, with an entity tag of its content.
type file struct {
	kind    string
	tag     string
	plain   []byte
	gzipped []byte // nil where it would not be shorter
}

// views are the first parts of addresses below which the page finds its way by
// itself: all of them are index.html.
var views = [...]string{"incidents", "fabric", "jobs", "power", "coverage", "silences", "alerts", "replay", "entity", "wall", "explore", "topology", "status"}

const index = "index.html"

// newPage reads the files of the page. Nil is a page without any.
func newPage(files fs.FS) (*page, error) {
	p := &page{files: map[string]*file{}}
	if files == nil {
		return p, nil
	}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p.files[name] = newFile(name, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("serve: page: %w", err)
	}
	return p, nil
}

func newFile(name string, b []byte) *file {
	sum := sha256.Sum256(b)
	f := &file{kind: kindOf(name), tag: hex.EncodeToString(sum[:12]), plain: b}
	if len(b) <= compressFrom {
		return f
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(b) // into memory
	_ = z.Close()
	if buf.Len() < len(b)*9/10 {
		f.gzipped = bytes.Clone(buf.Bytes())
	}
	return f
}

// kindOf is a file's media type. It does not ask the system, which may know
// another one.
func kindOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".txt", ".md":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// find returns the file of a path.
func (p *page) find(urlPath string) *file {
	name := strings.TrimPrefix(path.Clean("/"+urlPath), "/")
	if f := p.files[name]; f != nil {
		return f
	}
	first, _, _ := strings.Cut(name, "/")
	for _, v := range views {
		if first == v {
			return p.files[index]
		}
	}
	if name == "" {
		return p.files[index]
	}
	return nil
}

// page answers everything that is not the API's. A browser keeps what it has
// and asks whether it is still the same: one file never meets another version's.
func (s *server) files(w http.ResponseWriter, r *http.Request) {
	f := s.page.find(r.URL.Path)
	if f == nil {
		s.reply.problem(w, r, &problem{status: http.StatusNotFound, text: "not found: " + r.URL.Path})
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	body, tag := f.plain, f.tag
	if f.gzipped != nil && acceptsGzip(r) {
		body, tag = f.gzipped, f.tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
