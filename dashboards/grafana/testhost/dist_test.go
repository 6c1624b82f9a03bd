package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shape is the part of plugin.json that Grafana's schema defines and that is used
// here.
type shape struct {
	Schema      string `json:"$schema"`
	Type        string `json:"type"`
	Name        string `json:"name"`
	ID          string `json:"id"`
	Category    string `json:"category"`
	Metrics     bool   `json:"metrics"`
	Annotations bool   `json:"annotations"`
	Alerting    bool   `json:"alerting"`
	Backend     bool   `json:"backend"`
	Streaming   bool   `json:"streaming"`
	Executable  string `json:"executable"`
	Info        struct {
		Description string                        `json:"description"`
		Author      struct{ Name string }         `json:"author"`
		Keywords    []string                      `json:"keywords"`
		Logos       struct{ Small, Large string } `json:"logos"`
		Links       []struct{ Name, URL string }  `json:"links"`
		Screenshots []struct{ Name, Path string } `json:"screenshots"`
		Version     string                        `json:"version"`
		Updated     string                        `json:"updated"`
	} `json:"info"`
	Includes     []struct{ Type, Name, Path string } `json:"includes"`
	Dependencies struct {
		GrafanaDependency string `json:"grafanaDependency"`
		Plugins           []any  `json:"plugins"`
	} `json:"dependencies"`
}

func described(t *testing.T, path string) shape {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("the front end is not built (make build): %v", err)
	}
	defer f.Close()
	// The schema allows no other keys.
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var out shape
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

// plugin.json is as Grafana's schema of it asks (docs/sources/developers/plugins/
// plugin.schema.json in grafana/grafana), before the build and after it.
func TestPluginJSON(t *testing.T) {
	for path, want := range map[string]struct{ version, updated string }{
		"../src/plugin.json":  {`^%VERSION%$`, `^%TODAY%$`},
		"../dist/plugin.json": {`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`, `^\d{4}-\d{2}-\d{2}$`},
	} {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			p := described(t, path)
			for what, c := range map[string]struct{ text, pattern string }{
				"id":                {p.ID, `^[0-9a-z]+-([0-9a-z]+-)?datasource$`},
				"type":              {p.Type, `^datasource$`},
				"category":          {p.Category, `^(tsdb|logging|cloud|tracing|profiling|sql|enterprise|iot|other)$`},
				"executable":        {p.Executable, `^gpx_[a-z]+$`},
				"grafanaDependency": {p.Dependencies.GrafanaDependency, `^(<=|>=|<|>|=|~|\^)?([0-9]+)(\.[0-9x*]+)(\.[0-9x*]+)?$`},
				"version":           {p.Info.Version, want.version},
				"updated":           {p.Info.Updated, want.updated},
			} {
				if !regexp.MustCompile(c.pattern).MatchString(c.text) {
					t.Errorf("%s: %q does not match %s", what, c.text, c.pattern)
				}
			}
			if p.ID != pluginID {
				t.Errorf("id %q, want %q", p.ID, pluginID)
			}
			if len(p.Info.Keywords) == 0 || p.Info.Author.Name == "" || p.Info.Description == "" {
				t.Error("keywords, an author and a description are wanted")
			}
			if p.Alerting && !p.Backend {
				t.Error("alerting wants a back end")
			}
			for _, img := range []string{p.Info.Logos.Small, p.Info.Logos.Large} {
				b, err := os.ReadFile(filepath.Join(filepath.Dir(path), img))
				if err != nil || !strings.Contains(string(b), "<svg") {
					t.Errorf("logo %q: %v; want an SVG", img, err)
				}
			}
			for _, i := range p.Includes {
				b, err := os.ReadFile(filepath.Join(filepath.Dir(path), i.Path))
				if err != nil || i.Type != "dashboard" || !json.Valid(b) {
					t.Errorf("included %s %q: %v; want a dashboard", i.Type, i.Path, err)
				}
			}
			for _, l := range p.Info.Links {
				if !strings.HasPrefix(l.URL, "https://") {
					t.Errorf("link %q", l.URL)
				}
			}
		})
	}
}

// The installed plugin is complete: Grafana provides every module that it imports,
// and the documents are present.
func TestDist(t *testing.T) {
	p := described(t, "../dist/plugin.json")
	module, err := os.ReadFile("../dist/module.js")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`^define\(\[([^\]]*)\]`).FindSubmatch(module)
	if asked == nil {
		t.Fatalf("module.js is no AMD module: %.60s", module)
	}
	given := []string{"react", "react-dom", "rxjs", "lodash", "@emotion/css", "@emotion/react", "@grafana/data", "@grafana/runtime", "@grafana/ui"}
	for _, name := range strings.Split(string(asked[1]), ",") {
		if name = strings.Trim(name, `"`); !slices.Contains(given, name) {
			t.Errorf("module.js asks for %q, which Grafana does not give", name)
		}
	}
	if len(module) > 100<<10 {
		t.Errorf("module.js has %d bytes: is something bundled that Grafana gives?", len(module))
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		b, err := os.ReadFile(filepath.Join("../dist", name))
		if err != nil || len(b) < 100 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil || !strings.Contains(string(changes), "## "+p.Info.Version) {
		t.Errorf("CHANGELOG.md does not speak of %s", p.Info.Version)
	}
	programs, err := filepath.Glob("../dist/" + p.Executable + "_linux_*")
	if err != nil || len(programs) == 0 {
		t.Errorf("no program %s_linux_… in dist, %v", p.Executable, err)
	}
	for _, program := range programs {
		if s, err := os.Stat(program); err != nil || s.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be run: %v", program, err)
		}
	}
}
