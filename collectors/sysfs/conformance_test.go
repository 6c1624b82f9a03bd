package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

func subject(t *testing.T) collectorstest.Subject {
	t.Helper()
	f := grow(txtar.Parse([]byte(baseTree)).Files)
	c, err := New(Config{Path: "recorded", Node: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	c.tree = f
	t.Cleanup(func() {
		if f.opened != 0 {
			t.Errorf("%d files are still open", f.opened)
		}
	})
	var away map[string]string
	return collectorstest.Subject{
		Collector: c,
		Sever:     func() { away = f.cut("class/infiniband") },
		Restore:   func() { f.graft("class/infiniband", away) },
		Spoil:     func() { f.set(port1+"counters/port_xmit_data", "rubbish") },
		SpoiltAs:  collectors.Malformed,
		Swell: func() {
			for i := range 3000 {
				f.set(fmt.Sprintf("%shw_counters/c%d", port1, i), "1")
			}
		},
	}
}

func TestItConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: subject})
}

// The same on the disk, where the tree is taken away and put back as files.
func TestItConformsOnTheDisk(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		root := t.TempDir()
		f := grow(txtar.Parse([]byte(baseTree)).Files)
		f.plant(t, root)
		c, err := New(Config{Path: root, Node: "h1"})
		if err != nil {
			t.Fatal(err)
		}
		move := func(from, to string) {
			if err := os.Rename(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
				t.Error(err)
			}
		}
		return collectorstest.Subject{
			Collector: c,
			Sever:     func() { move("class/infiniband", "away") },
			Restore:   func() { move("away", "class/infiniband") },
			Spoil: func() {
				if err := os.WriteFile(filepath.Join(root, port1, "counters/port_xmit_data"), []byte("rubbish"), 0o644); err != nil {
					t.Error(err)
				}
			},
			SpoiltAs: collectors.Malformed,
		}
	}})
}
