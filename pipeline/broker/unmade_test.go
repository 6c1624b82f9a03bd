package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
)

// A process that ends while it makes a stream leaves its folder with one of the two
// files that describe it, or an empty one, or none: the next process makes it anew.
func TestAStreamThatWasBeingMadeIsMadeAnew(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, stream string){
		"the folder": func(t *testing.T, stream string) {
			remove(t, filepath.Join(stream, "meta.inf"))
			remove(t, filepath.Join(stream, "meta.sum"))
		},
		"no checksum":          func(t *testing.T, stream string) { remove(t, filepath.Join(stream, "meta.sum")) },
		"an empty description": func(t *testing.T, stream string) { write(t, filepath.Join(stream, "meta.inf"), "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			streams := madeIn(t, dir)
			if len(streams) == 0 {
				t.Fatal("no stream was made")
			}
			for _, s := range streams {
				leave(t, s)
			}
			s := start(t, broker.Config{Dir: dir})
			if err := connect(t, s, broker.All).Create(within(t, 10*time.Second)); err != nil {
				t.Error(err)
			}
			if err := s.Health(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stream that has messages and no description is damaged: it is reported, and stays.
func TestAStreamWithMessagesIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	for _, s := range madeIn(t, dir) {
		if strings.HasSuffix(s, "log") {
			remove(t, filepath.Join(s, "meta.inf"))
			write(t, filepath.Join(s, "msgs", "1.blk"), "a message")
		}
	}
	s, err := broker.Start(within(t, 20*time.Second), broker.Config{Dir: dir, Site: "lab"})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "log' could not be recovered") {
		t.Errorf("a log without a description: %v", err)
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "jetstream/*/streams/*log/msgs/1.blk")); len(kept) != 1 {
		t.Error("its messages are gone")
	}
}

// madeIn makes a site's streams in a directory and returns their folders.
func madeIn(t *testing.T, dir string) []string {
	t.Helper()
	s := start(t, broker.Config{Dir: dir})
	if err := connect(t, s, broker.All).Create(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	folders, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
