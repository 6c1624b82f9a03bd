package jobs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// slurmModel is a slurmrestd that can be taken away and spoilt. It answers
// without a connection: time in a bubble waits for none.
type slurmModel struct{ severed, spoilt, swollen atomic.Bool }

// RoundTrip implements http.RoundTripper.
func (m *slurmModel) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch {
	case m.severed.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasSuffix(r.URL.Path, "/jobs"):
		fmt.Fprintf(w, `{"jobs":[{"job_id":7,"name":"train","job_state":["RUNNING"],"nodes":"n[1-2]","gres_detail":["gpu:8(IDX:0-7)","gpu:8(IDX:0-7)"],"start_time":{"set":true,"number":%d}}`, time.Now().Unix())
		if m.spoilt.Load() {
			fmt.Fprint(w, `,{"job_id":"many"}`)
		}
		for i := 0; m.swollen.Load() && i < 100; i++ {
			fmt.Fprintf(w, `,{"job_id":%d,"name":"more","job_state":["RUNNING"],"nodes":"n%d","gres_detail":["gpu:8(IDX:0-7)"]}`, i+10, i)
		}
		fmt.Fprint(w, `]}`)
	default:
		fmt.Fprint(w, `{"nodes":[{"name":"n1","state":["IDLE"]}]}`)
	}
	return w.Result(), nil
}

func TestSlurmConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		m := &slurmModel{}
		c, err := New(Config{Type: typeSlurm, URL: "http://slurm", Every: time.Second, MaxJobs: 20}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		c.open = func() (source, error) { return newSlurm(c.cfg, &http.Client{Transport: m}, c.cfg.URL), nil }
		return collectorstest.Subject{Collector: c, Sever: func() { m.severed.Store(true) }, Restore: func() { m.severed.Store(false) },
			Spoil: func() { m.spoilt.Store(true) }, SpoiltAs: collectors.Malformed, Swell: func() { m.swollen.Store(true) }}
	}})
}

// journal is a log that a test writes, and can take away.
type journal struct {
	t    *testing.T
	path string
	mu   sync.Mutex
	n    int
	away bool
	also string // what is written beside every step
}

func (j *journal) write() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.away {
		return
	}
	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		j.t.Error(err)
		return
	}
	j.n++
	_, err = fmt.Fprintf(f, "%s iteration %d/ 100000 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.0 |\n%s", time.Now().UTC().Format("[2006-01-02 15:04:05.000000]"), j.n, j.also)
	if e := f.Close(); err != nil || e != nil {
		j.t.Error(err, e)
	}
}

func TestLogsConform(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{RealTime: true, New: func(t *testing.T) collectorstest.Subject {
		j := &journal{t: t, path: filepath.Join(t.TempDir(), "train.log")}
		j.write()
		c, err := New(Config{Type: typeLog, Paths: []string{j.path}, Every: time.Millisecond, Zone: "UTC"}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		set := func(change func()) func() {
			return func() {
				j.mu.Lock()
				defer j.mu.Unlock()
				change()
			}
		}
		return collectorstest.Subject{Collector: c, Poke: j.write,
			Sever: set(func() { j.away = true; _ = os.Remove(j.path) }), Restore: func() {
				set(func() { j.away = false })()
				j.write()
			},
			Spoil: set(func() { j.also = "[2001-01-01 00:00:00] iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n" }), SpoiltAs: collectors.Stale,
			Swell: set(func() { j.also = strings.Repeat("x", 4*longestLine) + "\n" })}
	}})
}
