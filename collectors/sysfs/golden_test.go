package sysfs

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/kind"
)

var update = flag.Bool("update", false, "write what the cases of testdata/sysfs should say")

const wantFile = "want"

// readCase reads a case of testdata/sysfs: its comment, the tree below sys/, and a
// folder with the listings below ethtool/.
func readCase(t *testing.T, a *txtar.Archive) (f *forest, c Config) {
	t.Helper()
	c = Config{Path: "/sys", Node: "h1", Ethtool: NoStats}
	dir := t.TempDir()
	var files []txtar.File
	for _, file := range a.Files {
		if name, ok := strings.CutPrefix(file.Name, "sys/"); ok {
			files = append(files, txtar.File{Name: name, Data: bytes.TrimSuffix(file.Data, []byte("\n"))})
		}
		if name, ok := strings.CutPrefix(file.Name, "ethtool/"); ok {
			c.Ethtool = dir
			full := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, file.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if file.Name == "config.yaml" {
			var n yaml.Node
			if err := yaml.Unmarshal(file.Data, &n); err != nil {
				t.Fatal(err)
			}
			more, err := kind.Entry[Config]("sysfs")(&n)
			if err != nil {
				t.Fatal(err)
			}
			c.AllStatistics = more.AllStatistics
		}
	}
	return grow(files), c
}

// once reads a tree once and returns what would be sent, with the notes.
func once(t *testing.T, c Config, tr tree) string {
	t.Helper()
	col, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if tr != nil {
		col.tree = tr
	}
	p := collectors.NewPrinter()
	if err := col.Once(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	if err := p.PrintNotes(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func cases(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../../testdata/sysfs/*.txtar")
	if err != nil || len(list) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return list
}

// Every case reads as it states, from memory and from the disk alike, and no
// counter's file is skipped.
func TestGolden(t *testing.T) {
	for _, name := range cases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a := archive(t, name)
			f, c := readCase(t, a)
			got := once(t, c, f)
			want := ""
			if n := len(a.Files); a.Files[n-1].Name == wantFile {
				want = string(a.Files[n-1].Data)
				a.Files = a.Files[:n-1]
			}
			if *update {
				a.Files = append(a.Files, txtar.File{Name: wantFile, Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if f.opened != 0 {
				t.Errorf("%d files are still open", f.opened)
			}
			complete(t, c, f)
			if f.sick() {
				return
			}
			c.Path = t.TempDir()
			f.plant(t, c.Path)
			if disk := once(t, c, nil); disk != got {
				t.Errorf("from the disk\n%s\nfrom memory\n%s", disk, got)
			}
		})
	}
}

// complete proves that every counter's file of a tree is read into some series
// or left out for a reason that was counted.
func complete(t *testing.T, c Config, tr tree) {
	t.Helper()
	col, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	col.tree = tr
	r, err := col.newReader(collectors.NewPrinter())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := r.replan(); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, d := range r.plan.devices {
		dirs := []string{path.Join(d.dir, hardwareDir)}
		for _, p := range d.ports {
			dirs = append(dirs, path.Join(p.dir, countersDir), path.Join(p.dir, countersExtDir), path.Join(p.dir, hardwareDir))
		}
		for _, dir := range dirs {
			files, _ := tr.list(dir) // most devices lack most of them
			for _, f := range files {
				there[path.Join(dir, f)] = true
			}
		}
	}
	all := len(there)
	for _, g := range r.plan.groups {
		for _, f := range g.files {
			if !there[f.name] {
				t.Errorf("%s is read and not there, or read twice", f.name)
			}
			delete(there, f.name)
		}
	}
	left := r.plan.dropped[collectors.Duplicate] + r.plan.dropped[collectors.OverLimit]
	for _, g := range r.plan.groups {
		if g.stats != nil {
			left -= g.stats.known - g.stats.bound
		}
	}
	if len(there) != left {
		t.Errorf("of %d files %d are not read, and %d are counted for it: %v", all, len(there), left, slices.Sorted(maps.Keys(there)))
	}
	r.sweep(t.Context())
	cells, states := 0, map[uint8]int{}
	for _, tb := range append(r.plan.quick[:len(r.plan.quick):len(r.plan.quick)], r.plan.slow...) {
		for _, s := range tb.states {
			states[uint8(s)]++
			cells++
		}
	}
	t.Logf("%d files, %d series: %s", all, cells, fmt.Sprintf("%d absent, %d gaps, %d present", states[0], states[1], states[2]))
}
