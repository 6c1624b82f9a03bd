package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/replay"
)

// shown is a replay with its page, as its user has it.
type shown struct {
	t   *testing.T
	url string
}

// startReplay runs quintet replay --serve until the test ends.
func startReplay(t *testing.T, args ...string) *shown {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slow.qtrace")
	if err := os.WriteFile(file, recorded.Trace(), 0o600); err != nil {
		t.Fatal(err)
	}
	return startReplayOf(t, file, args...)
}

func startReplayOf(t *testing.T, file string, args ...string) *shown {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, said := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- app().Run(&cli.Shell{Ctx: ctx, Out: said, Err: io.Discard}, append([]string{"replay", file, "--serve", "--listen", "127.0.0.1:0"}, args...))
		said.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != cli.Sound {
			t.Errorf("exit code %d", code)
		}
	})
	at := make(chan string, 1)
	go func() {
		var all strings.Builder
		b := make([]byte, 4096)
		for {
			n, err := out.Read(b)
			all.Write(b[:n])
			if m := regexp.MustCompile(`the page is at (http://\S+)/\n`).FindStringSubmatch(all.String()); m != nil {
				select {
				case at <- m[1]:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case url := <-at:
		return &shown{t, url}
	case <-time.After(time.Minute):
		t.Fatal("it does not say where the page is")
		return nil
	}
}

// ask asks, and reads the answer.
func (s *shown) ask(method, path, body string) (code int, answer map[string]any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer got.Body.Close()
	_ = json.NewDecoder(got.Body).Decode(&answer) // the page is no JSON
	return got.StatusCode, answer
}

// seek seeks to a position and waits until the engine is there.
func (s *shown) seek(to string) {
	s.t.Helper()
	if code, said := s.ask(http.MethodPost, "/api/v1/replay", `{"seek":"`+to+`","paused":true}`); code != http.StatusOK {
		s.t.Fatalf("%d %v", code, said)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if _, status := s.ask(http.MethodGet, "/api/v1/status", ""); status["tick"] == to {
			if _, where := s.ask(http.MethodGet, "/api/v1/replay", ""); where["at"] == to && where["seeking"] == nil {
				return
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			s.t.Fatalf("it does not come to %s", to)
		}
	}
}

// titles are the incidents that are known.
func (s *shown) titles() (out []string) {
	s.t.Helper()
	code, list := s.ask(http.MethodGet, "/api/v1/incidents", "")
	for tries := 0; code == http.StatusServiceUnavailable && tries < 1000; tries++ { // they are still being read
		code, list = s.ask(http.MethodGet, "/api/v1/incidents", "")
	}
	if code != http.StatusOK {
		s.t.Fatalf("incidents: %d %v", code, list)
	}
	for _, i := range list["incidents"].([]any) {
		x := i.(map[string]any)
		out = append(out, x["state"].(string)+" "+x["id"].(string))
	}
	return out
}

// The page over a replay shows what was known at the instant that was chosen:
// on, back, and on again, at one address all the while.
func TestReplayServe(t *testing.T) {
	s := startReplay(t)
	if code, _ := s.ask(http.MethodGet, "/replay", ""); code != http.StatusOK {
		t.Errorf("the view: %d", code)
	}
	if _, status := s.ask(http.MethodGet, "/api/v1/status", ""); status["replay"] != true {
		t.Errorf("the status does not say that this is a replay: %v", status)
	}
	var marks []any
	for marks == nil {
		_, where := s.ask(http.MethodGet, "/api/v1/replay", "")
		marks, _ = where["marks"].([]any)
	}
	mark := marks[0].(map[string]any)
	if len(marks) != 1 || mark["signature"] != "slow-receiver" {
		t.Fatalf("marks: %v", marks)
	}
	id := mark["id"].(string)
	for _, x := range []struct{ to, want string }{
		{"1970-01-01T00:03:00Z", "open " + id}, {"1970-01-01T00:01:00Z", ""}, {"1970-01-01T00:06:30Z", "resolved " + id}, {"1970-01-01T00:02:40Z", "open " + id},
	} {
		s.seek(x.to)
		if got := strings.Join(s.titles(), ", "); got != x.want {
			t.Errorf("at %s: %q, want %q", x.to, got, x.want)
		}
	}
	if code, said := s.ask(http.MethodPost, "/api/v1/replay", `{"seek":"2026-11-21T00:00:00Z"}`); code != http.StatusBadRequest || said["field"] != "seek" {
		t.Errorf("outside the recording: %d %v", code, said)
	}
}

// A captured incident begins with the engine's state of then: what was known is
// known from the first tick on, under the name it had, and there is a way back.
func TestReplayServeOfACapture(t *testing.T) {
	whole := startReplay(t)
	whole.seek("1970-01-01T00:04:50Z")
	known := whole.titles()
	file := filepath.Join(t.TempDir(), "capture.qtrace")
	if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: io.Discard, Err: io.Discard}, []string{"capture", "-o", file, "--server", whole.url, "--last", "80s"}); code != cli.Sound {
		t.Fatalf("capture: exit code %d", code)
	}
	rec, err := replay.Open(file, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	cold := rec.Trace.Header().Cold
	rec.Close()
	if cold {
		t.Fatal("the capture begins cold: nothing is shown by it")
	}
	s := startReplayOf(t, file, "--speed", "0.001")
	for _, at := range []string{"", "1970-01-01T00:04:40Z", "1970-01-01T00:04:10Z"} {
		if at != "" {
			s.seek(at)
		}
		if got := s.titles(); !slices.Equal(got, known) || len(got) != 1 {
			t.Errorf("at %q: %v, want %v", at, got, known)
		}
		_, jobs := s.ask(http.MethodGet, "/api/v1/jobs", "")
		if n := len(jobs["jobs"].([]any)); n != 2 {
			t.Errorf("at %q %d jobs are known", at, n)
		}
	}
}

// The page is shown, or an answer is printed: not both.
func TestReplayServeWantsNoAnswer(t *testing.T) {
	for _, args := range [][]string{{"--serve", "--json"}, {"--serve", "--explain"}, {"--serve", "--speed", "1e8"}} {
		if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: io.Discard, Err: io.Discard}, append([]string{"replay", "../../testdata/roce/slownic-2"}, args...)); code != cli.Usage {
			t.Errorf("%v: exit code %d, want %d", args, code, cli.Usage)
		}
	}
}
