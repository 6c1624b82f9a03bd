package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/telemetry"
)

// former are the releases of which testdata/former has files, by their engine, with
// what their logs and histories have. All of them saw the same fault.
var former = []struct {
	engine  string
	entries int
	series  string // of the history at a time: a query, a time and the number
	at      string
	held    string
}{
	{engine: "0.1.0", entries: 954},
	{engine: "0.12.0", entries: 751, series: "count(port_pfc_rx_pause_seconds_total)", at: "2026-11-26T20:17:00Z", held: "40"},
}

// formerRoot is where the fault of those recordings was.
const formerRoot = "nic:h9/nic0"

// unpacked copies the files of a release, and returns where.
func unpacked(t *testing.T, engine string) string {
	t.Helper()
	dir, from := t.TempDir(), filepath.Join("../../testdata/former", engine)
	for _, name := range []string{"quintet.yaml", "run.qtrace"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(from, "data.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	untar(t, tar.NewReader(plain), dir)
	return dir
}

func untar(t *testing.T, in *tar.Reader, dir string) {
	t.Helper()
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && h.FileInfo().IsDir() {
			err = os.MkdirAll(filepath.Join(dir, h.Name), 0o750)
		} else if err == nil {
			var b []byte
			if b, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(filepath.Join(dir, h.Name), b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// command runs a command of the program and returns its exit code and what it wrote.
func command(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: &out}, args)
	return code, out.String()
}

// TestMigrateOfFormerReleases migrates their configurations: what comes out is
// accepted, and the former file is kept for a rollback.
func TestMigrateOfFormerReleases(t *testing.T) {
	for _, f := range former {
		path := filepath.Join(unpacked(t, f.engine), "quintet.yaml")
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if code, out := command(t, "config", "migrate", path); code != cli.Sound || !strings.Contains(out, "nats.retain is now nats.retention") {
			t.Errorf("%s: migrate: exit %d: %s", f.engine, code, out)
		}
		if code, out := command(t, "check", "config", path); code != cli.Sound {
			t.Errorf("%s: check: exit %d: %s", f.engine, code, out)
		}
		if kept, err := os.ReadFile(path + ".orig"); err != nil || !bytes.Equal(kept, before) {
			t.Errorf("%s: the former file is not kept: %v", f.engine, err)
		}
	}
}

// TestReplayOfFormerReleases replays their traces.
func TestReplayOfFormerReleases(t *testing.T) {
	for _, f := range former {
		code, out := command(t, "replay", filepath.Join(unpacked(t, f.engine), "run.qtrace"))
		if code != cli.Sound || !strings.Contains(out, " at "+formerRoot+" (network)") {
			t.Errorf("%s: exit %d: %s", f.engine, code, out)
		}
	}
}

// TestLogsOfFormerReleases applies every record of their logs to the present engine.
func TestLogsOfFormerReleases(t *testing.T) {
	for _, f := range former {
		dir := unpacked(t, f.engine)
		if _, out := command(t, "check", "data", filepath.Join(dir, "data"), "--config", filepath.Join(dir, "quintet.yaml")); !strings.Contains(out, fmt.Sprintf("log: %d entries, positions 1 to %[1]d, 0 missing", f.entries)) {
			t.Errorf("%s: %s", f.engine, out)
		}
		if roots := rootsOf(t, dir); !roots[formerRoot] {
			t.Errorf("%s: roots %v, want %s", f.engine, roots, formerRoot)
		}
	}
}

// rootsOf returns the roots of the incidents that the present engine finds in a log.
func rootsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "quintet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, _ := config.Parse("quintet.yaml", string(text))
	if file == nil {
		t.Fatal("the configuration cannot be read")
	}
	file.Data = filepath.Join(dir, "data")
	b, done, err := pipeline.OpenLog(t.Context(), file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	err = b.Slice(t.Context(), bus.Span{}, func(e bus.Entry) error {
		if e.Record == nil {
			return fmt.Errorf("position %d is no record", e.Position)
		}
		changed, refused, err := runner.ApplyFrom(e.Position, e.Collector, e.Record)
		if err != nil || refused != "" {
			return fmt.Errorf("position %d: refused %q, %w", e.Position, refused, err)
		}
		for _, i := range changed {
			if i.Root.Entity != (telemetry.Entity{}) {
				out[i.Root.Entity.String()] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestServeOfFormerReleases starts the service on their data folders, with their
// migrated configurations: it goes on behind their last record, with their keys and
// history, and loses nothing of the log.
func TestServeOfFormerReleases(t *testing.T) {
	for _, f := range former {
		t.Run(f.engine, func(t *testing.T) {
			s := newSite(t, 1)
			dir := unpacked(t, f.engine)
			path, listen := filepath.Join(dir, "quintet.yaml"), wiretest.FreeAddress(t)
			if code, out := command(t, "config", "migrate", path); code != cli.Sound {
				t.Fatal(code, out)
			}
			relocate(t, path, filepath.Join(dir, "data"), listen)
			authority := read(t, filepath.Join(dir, "data/keys/ca.crt"))
			p := s.start("serve", "--config", path)
			var status struct{ Position int }
			s.await("it goes on behind the last record", func() bool {
				return get("http://"+listen+"/-/ready", nil) && get("http://"+listen+"/api/v1/status", &status) && status.Position > f.entries
			})
			if f.series != "" {
				s.await("it has the history", func() bool { return held(listen, f.series, f.at) == f.held })
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			if !bytes.Equal(authority, read(t, filepath.Join(dir, "data/keys/ca.crt"))) {
				t.Error("it has made another authority")
			}
			if _, out := command(t, "check", "data", filepath.Join(dir, "data"), "--config", path); !regexp.MustCompile(`log: \d+ entries, positions 1 to \d+, 0 missing`).MatchString(out) {
				t.Error(out)
			}
		})
	}
}

// relocate changes where a configuration keeps data and listens.
func relocate(t *testing.T, path, data, listen string) {
	t.Helper()
	text := string(read(t, path))
	text = regexp.MustCompile(`(?m)^data: .*$`).ReplaceAllLiteralString(text, "data: "+data)
	text = regexp.MustCompile(`(?m)^listen: .*$`).ReplaceAllLiteralString(text, "listen: "+listen)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// get asks for a path, decodes the answer, and reports whether there was one.
func get(address string, into any) bool {
	resp, err := http.Get(address)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && (into == nil || json.NewDecoder(resp.Body).Decode(into) == nil)
}

// held returns the first value of a query of the history; empty if there is none.
func held(listen, query, at string) string {
	var out struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return ""
	}
	address := "http://" + listen + "/prometheus/api/v1/query?" + url.Values{"query": {query}, "time": {when.Format(time.RFC3339)}}.Encode()
	if !get(address, &out) || len(out.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(out.Data.Result[0].Value[1])
}
