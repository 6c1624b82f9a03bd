package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	_ "embed"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed search.js
var search []byte

// build writes the site of the repository at root.
func build(root, out, source string) error {
	pages, err := read(root)
	if err != nil {
		return err
	}
	s := &site{root: root, source: source, pages: map[string]*page{}}
	for _, p := range pages {
		s.pages[p.path] = p
	}
	for _, p := range pages {
		s.render(p)
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return s.write(out, pages)
}

// site is what the pages of a site share.
type site struct {
	root   string
	source string
	pages  map[string]*page
	images map[string]bool
	faults []error
}

// write writes pages and what they load.
func (s *site) write(out string, pages []*page) error {
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	files := map[string][]byte{"style.css": style, "search.js": search, "index.js": index(pages)}
	for _, p := range pages {
		var b bytes.Buffer
		err := t.Execute(&b, map[string]any{"Page": p, "Up": strings.Repeat("../", strings.Count(p.url, "/")), "Groups": grouped(pages), "Body": template.HTML(p.body)})
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		files[p.url] = b.Bytes()
		files["llms-full.txt"] = append(files["llms-full.txt"], fmt.Sprintf("<!-- %s -->\n\n%s\n\n", p.path, p.text)...)
	}
	for _, path := range append(keys(s.images), "llms.txt") {
		b, err := os.ReadFile(filepath.Join(s.root, path))
		if err != nil {
			return err
		}
		files[path] = b
	}
	for name, b := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d pages, %d files\n", out, len(pages), len(files))
	return nil
}

// index returns the search index as a script, because a page that was opened as a
// file may load scripts and nothing else.
func index(pages []*page) []byte {
	type entry struct {
		Title   string `json:"t"`
		Heading string `json:"h"`
		URL     string `json:"u"`
		Text    string `json:"x"`
	}
	var all []entry
	for _, p := range pages {
		for _, x := range p.sections {
			url := p.url
			if x.id != "" {
				url += "#" + x.id
			}
			all = append(all, entry{p.Title, x.heading, url, x.text.String()})
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings have JSON
	}
	return append(append([]byte("window.quintetIndex="), b...), ";\n"...)
}

// check returns what is wrong with the links.
func (s *site) check() error {
	for _, p := range s.pages {
		for _, l := range p.links {
			if other, ok := s.pages[l.path]; ok && l.fragment != "" && !other.ids[l.fragment] {
				s.faults = append(s.faults, fmt.Errorf("%s: link %s#%s: no such heading", p.path, l.path, l.fragment))
			}
		}
	}
	return errors.Join(s.faults...)
}

// exists reports whether the repository has a file or folder.
func (s *site) exists(path string) bool {
	_, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(path)))
	return !errors.Is(err, fs.ErrNotExist)
}
