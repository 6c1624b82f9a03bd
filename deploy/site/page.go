package main

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is one Markdown file.
type page struct {
	path     string // in the repository
	url      string // in the site
	Title    string
	Group    string
	text     []byte
	body     string
	ids      map[string]bool // of headings
	links    []link
	sections []*section
}

// URL is where the page is, from the top of the site.
func (p *page) URL() string { return p.url }

// link is a link to another page.
type link struct{ path, fragment string }

// section is a heading and the text below it, for the search.
type section struct {
	heading, id string
	text        strings.Builder
}

// sources lists what becomes a page, by group, in the order of the navigation.
var sources = []struct {
	group string
	globs []string
}{
	{"Start", []string{"README.md", "docs/architecture.md", "docs/glossary.md", "CHANGELOG.md"}},
	{"Run it", []string{"docs/operating.md", "deploy/README.md", "docs/collectors.md", "docs/mapping.md", "docs/extending.md", "docs/page.md", "docs/alerts.md", "docs/history.md", "docs/rules-prometheus.md", "docs/drills.md", "docs/chaos.md", "docs/threats.md", "SECURITY.md"}},
	{"Interfaces", []string{"docs/http.md", "docs/webhooks.md", "docs/mcp.md", "docs/import.md", "docs/format-*.md", "dashboards/grafana/README.md"}},
	{"Answers", []string{"docs/signatures.md", "docs/scenarios.md", "docs/accuracy*.md", "docs/scoring.md", "docs/whatif.md", "docs/simulator.md"}},
	{"Take part", []string{"CONTRIBUTING.md", "CODE_OF_CONDUCT.md"}},
	{"More", []string{"docs/*.md", "docs/*/*.md"}},
	{"Decisions", []string{"docs/decisions/*.md"}},
}

// read reads the Markdown files; each is in the first group that names it, but
// decisions are in their own.
func read(root string) (out []*page, err error) {
	seen := map[string]bool{}
	for _, s := range sources {
		for _, glob := range s.globs {
			found, err := filepath.Glob(filepath.Join(root, glob))
			if err != nil {
				return nil, err
			}
			for _, file := range found {
				rel, err := filepath.Rel(root, file)
				if err != nil {
					return nil, err
				}
				rel = filepath.ToSlash(rel)
				if seen[rel] || s.group != "Decisions" && strings.HasPrefix(rel, "docs/decisions/") {
					continue
				}
				seen[rel] = true
				b, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				out = append(out, &page{path: rel, url: urlOf(rel), Group: s.group, text: b, ids: map[string]bool{}})
			}
		}
	}
	return out, nil
}

// urlOf returns where the page of a file is in the site.
func urlOf(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// group is a part of the navigation.
type group struct {
	Name  string
	Pages []*page
}

// grouped returns the navigation.
func grouped(pages []*page) (out []group) {
	for _, p := range pages {
		if len(out) == 0 || out[len(out)-1].Name != p.Group {
			out = append(out, group{Name: p.Group})
		}
		g := &out[len(out)-1]
		g.Pages = append(g.Pages, p)
	}
	return out
}

// render makes HTML of a page: its links lead to pages where there is one.
func (s *site) render(p *page) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	doc := md.Parser().Parse(text.NewReader(p.text), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{seen: map[string]int{}}))))
	at := &section{}
	p.sections = append(p.sections, at)
	walk(doc, func(n ast.Node) {
		switch x := n.(type) {
		case *ast.Heading:
			id, _ := x.AttributeString("id")
			name, _ := id.([]byte)
			p.ids[string(name)] = true
			at = &section{heading: plain(x, p.text), id: string(name)}
			p.sections = append(p.sections, at)
			if x.Level == 1 && p.Title == "" {
				p.Title = at.heading
			}
		case *ast.Link:
			x.Destination = []byte(s.target(p, string(x.Destination), false))
		case *ast.Image:
			x.Destination = []byte(s.target(p, string(x.Destination), true))
		case *ast.Text:
			at.text.Write(x.Segment.Value(p.text))
			at.text.WriteByte(' ')
		case *ast.FencedCodeBlock:
			for i := range x.Lines().Len() {
				line := x.Lines().At(i)
				at.text.Write(line.Value(p.text))
			}
		}
	})
	p.Title = cmp.Or(p.Title, p.path)
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, p.text, doc); err != nil {
		s.faults = append(s.faults, err)
	}
	p.body = b.String()
}

// walk calls f for every node.
func walk(n ast.Node, f func(ast.Node)) {
	f(n)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		walk(c, f)
	}
}

// plain returns the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	walk(n, func(n ast.Node) {
		if t, ok := n.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	})
	return b.String()
}

// target returns where a link of a page leads in the site.
func (s *site) target(p *page, to string, image bool) string {
	u, err := url.Parse(to)
	if err != nil {
		s.faults = append(s.faults, &broken{p.path, to, err.Error()})
		return to
	}
	if u.Scheme != "" || u.Host != "" {
		return to
	}
	file := p.path
	if u.Path != "" {
		file = path.Join(path.Dir(p.path), u.Path)
	}
	up := strings.Repeat("../", strings.Count(p.url, "/"))
	switch other, ok := s.pages[file]; {
	case ok:
		p.links = append(p.links, link{file, u.Fragment})
		if u.Path == "" {
			return to
		}
		return up + other.url + fragment(u)
	case strings.HasPrefix(file, "../") || !s.exists(file):
		s.faults = append(s.faults, &broken{p.path, to, "not found"})
	case image:
		if s.images == nil {
			s.images = map[string]bool{}
		}
		s.images[file] = true
		return up + file
	}
	return s.source + file + fragment(u)
}

func fragment(u *url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.Fragment
}

// broken is a link that leads nowhere.
type broken struct{ file, link, why string }

// Error returns file, link and reason.
func (b *broken) Error() string { return b.file + ": link " + b.link + ": " + b.why }

// anchors names headings as GitHub does, so that links work in both places.
type anchors struct{ seen map[string]int }

// Generate implements parser.IDs.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, c := range strings.ToLower(string(bytes.TrimSpace(value))) {
		switch {
		case c == ' ' || c == '-':
			b.WriteByte('-')
		case c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c > 127:
			b.WriteRune(c)
		}
	}
	id := b.String()
	n := a.seen[id]
	a.seen[id]++
	if n > 0 {
		id += "-" + string(rune('0'+min(n, 9)))
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (a *anchors) Put(value []byte) { a.seen[string(value)]++ }

func keys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
