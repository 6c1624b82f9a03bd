package deck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/deck"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(time.Second)

// record writes our recording of a slow NIC to a file.
func record(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.qtrace")
	if err := os.WriteFile(path, recorded.Trace(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newDeck(t *testing.T, c deck.Config) *deck.Deck {
	t.Helper()
	if c.Path == "" {
		c.Path = record(t)
	}
	d, err := deck.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// judge is a log whose records are judged as they come: what is shown at an
// instant.
type judge struct {
	mu     sync.Mutex
	stream *replay.Stream
}

func newJudge(t testing.TB) *judge {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	c := engine.Config{Slices: 1, Correlate: correlate.Config{Site: "lab", Catalogue: telemetry.DefaultCatalogue(), Signatures: set.Signatures, Rules: set.Digest}}
	s, err := replay.NewStream(t.Context(), replay.RunConfig{Engine: c})
	if err != nil {
		t.Fatal(err)
	}
	return &judge{stream: s}
}

func (j *judge) Append(ctx context.Context, _ string, rs ...*telemetry.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range rs {
		if err := j.stream.Apply(r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// shown is all that was published, and the incidents as they stand.
func (j *judge) shown(t testing.TB) string {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.stream.Result()
	b, err := json.Marshal(r.Incidents)
	if err != nil {
		t.Fatal(err)
	}
	return r.Digest + "\n" + r.Last.String() + "\n" + string(b)
}

// fresh is what a replay comes to that ends with the last tick at or before an
// instant.
func fresh(t testing.TB, path string, to telemetry.Time) string {
	t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	j, ticked := newJudge(t), false
	if err := rec.Each(func(_ uint64, r *telemetry.Record) error {
		if r.Kind == telemetry.TickRecord && r.Tick.At > to && ticked {
			return io.EOF
		}
		ticked = ticked || r.Kind == telemetry.TickRecord
		return j.Append(t.Context(), "", r)
	}); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return j.shown(t)
}

// shelf runs a deck, a judge for each session.
type shelf struct {
	*deck.Deck
	t      *testing.T
	mu     sync.Mutex
	judges map[int]*judge
}

func run(t *testing.T, d *deck.Deck) *shelf {
	t.Helper()
	s := &shelf{Deck: d, t: t, judges: map[int]*judge{}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- d.Run(ctx, func(ctx context.Context, n int) error {
			j := newJudge(t)
			s.mu.Lock()
			s.judges[n] = j
			s.mu.Unlock()
			// A service stops in stages: for a moment the old session still plays.
			late, stop := context.WithCancel(context.WithoutCancel(ctx))
			defer stop()
			context.AfterFunc(ctx, func() { time.AfterFunc(5*time.Millisecond, stop) })
			if err := d.Play(late, j, 0); err != nil {
				return err
			}
			<-ctx.Done() // and stays when what it plays has ended
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *shelf) judge(session int) *judge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judges[session]
}

// settled waits until what was asked for is done, and returns what is shown.
func (s *shelf) settled() (deck.State, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			s.t.Fatalf("waited in vain: %+v", s.State())
		}
		st := s.State()
		j := s.judge(st.Session)
		if j != nil && st.At != nil && st.Seeking == nil && s.State().Session == st.Session {
			return st, j.shown(s.t)
		}
	}
}

// What is shown after seeking to an instant is what a replay to that instant
// comes to, wherever one was before.
func TestSeekingIsReplayingToThere(t *testing.T) {
	path := record(t)
	s := run(t, newDeck(t, deck.Config{Path: path, Speed: 1, Paused: true}))
	length := int(s.State().To.Sub(s.State().From) / second)
	r := rand.New(rand.NewPCG(7, 11))
	back := 0
	for i := range 12 {
		to := s.State().From.Add(telemetry.Duration(r.IntN(length))*second + telemetry.Duration(r.IntN(1e9)))
		switch i {
		case 3:
			to = s.State().To
		case 4:
			to = s.State().From
		}
		left := func() {}
		if at := s.State().At; at != nil && to < *at {
			back++
			before, was := s.settled()
			left = func() {
				if now := s.judge(before.Session).shown(t); now != was {
					t.Errorf("the log that was left at %s went on", before.At)
				}
			}
		}
		if err := s.Seek(to); err != nil {
			t.Fatal(err)
		}
		st, got := s.settled()
		left()
		if *st.At > to && i != 4 || to.Sub(*st.At) > second && !st.Ended {
			t.Errorf("asked for %s, it stands at %s", to, st.At)
		}
		if want := fresh(t, path, to); got != want {
			t.Fatalf("at %s is shown\n%.300s\na replay to there comes to\n%.300s", to, got, want)
		}
	}
	if back < 3 {
		t.Errorf("only %d ways back", back)
	}
}

// Seeks that come faster than they are done: the last one counts.
func TestHastySeeks(t *testing.T) {
	path := record(t)
	s := run(t, newDeck(t, deck.Config{Path: path, Speed: 1, Paused: true}))
	from := s.State().From
	for _, at := range []int{200, 100, 300, 50, 20, 250, 10, 160} {
		if err := s.Seek(from.Add(telemetry.Duration(at) * second)); err != nil {
			t.Fatal(err)
		}
	}
	st, got := s.settled()
	if want := fresh(t, path, from.Add(160*second)); got != want {
		t.Errorf("it stands at %s with\n%.300s\nwant\n%.300s", st.At, got, want)
	}
}

// While it is paused no time passes, however long; then it goes on from there.
func TestPauseStopsTime(t *testing.T) {
	path := record(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDeck(t, deck.Config{Path: path, Speed: 2})
		run(t, d)
		<-time.After(10*time.Second + time.Millisecond)
		synctest.Wait()
		at := *d.State().At
		if got := at.Sub(d.State().From); got < 19*second || got > 21*second {
			t.Errorf("at twice the speed %s passed in 10 s", time.Duration(got))
		}
		d.Pause(true)
		<-time.After(time.Hour)
		synctest.Wait()
		if now := *d.State().At; now != at {
			t.Errorf("paused at %s, an hour later it stands at %s", at, now)
		}
		d.Pause(false)
		<-time.After(10*time.Second + time.Millisecond)
		synctest.Wait()
		if got := d.State().At.Sub(at); got < 19*second || got > 21*second {
			t.Errorf("in the next 10 s %s passed", time.Duration(got))
		}
		if err := d.SetSpeed(0); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if s := d.State(); !s.Ended || s.To.Sub(*s.At) > 2*second {
			t.Errorf("as fast as possible, a second later: %s of %s", s.At, s.To)
		}
	})
}

// Orders over HTTP are obeyed whole or not at all.
func TestOrders(t *testing.T) {
	d := newDeck(t, deck.Config{Speed: 1, Name: "run"})
	ask := func(method, body string) (int, string) {
		w := httptest.NewRecorder()
		d.Handler(7).ServeHTTP(w, httptest.NewRequest(method, "/api/v1/replay", strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	code, before := ask(http.MethodGet, "")
	if code != http.StatusOK || !strings.Contains(before, `"recording":"run"`) || !strings.Contains(before, `"marks":null`) || !strings.Contains(before, `"session":7`) {
		t.Errorf("%d %s", code, before)
	}
	for _, x := range []struct{ body, want string }{
		{``, "want"}, {`{}`, "nothing is asked for"}, {`{"pause":true}`, "pause"}, {`{"speed":-1,"paused":true}`, `"field":"speed"`},
		{`{"speed":1e300,"paused":true}`, `"field":"speed"`}, {`{"seek":"2026-11-21T09:30:00Z","paused":true}`, `"field":"seek"`}, {`{"seek":"soon"}`, "want"},
		{`{"paused":true}{"paused":false}`, "one"}, {strings.Repeat(" ", 5000) + `{"paused":true}`, "want"},
	} {
		code, said := ask(http.MethodPost, x.body)
		if code != http.StatusBadRequest || !strings.Contains(said, x.want) {
			t.Errorf("%.60s: %d %s", x.body, code, said)
		}
	}
	if _, after := ask(http.MethodGet, ""); after != before {
		t.Errorf("orders that were refused changed it to %s", after)
	}
	if code, said := ask(http.MethodPost, `{"paused":true,"speed":8,"seek":"1970-01-01T00:03:00Z"}`); code != http.StatusOK ||
		!strings.Contains(said, `"paused":true`) || !strings.Contains(said, `"speed":8`) || !strings.Contains(said, `"seeking":"1970-01-01T00:03:00Z"`) {
		t.Errorf("%d %s", code, said)
	}
}

// FuzzOrders obeys or refuses whatever comes, and never stands outside the
// recording.
func FuzzOrders(f *testing.F) {
	for _, s := range []string{`{"paused":true}`, `{"speed":0}`, `{"seek":"1970-01-01T00:03:00Z"}`, `{"seek":null}`, `{"speed":1e-300}`} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "run.qtrace")
	if err := os.WriteFile(path, recorded.Trace(), 0o600); err != nil {
		f.Fatal(err)
	}
	d, err := deck.New(deck.Config{Path: path})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		d.Handler(0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		s := d.State()
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || s.Seeking != nil && (*s.Seeking < s.From || *s.Seeking > s.To) || s.Speed < 0 || s.Speed > deck.MaxSpeed {
			t.Errorf("%q: %d, %+v", body, w.Code, s)
		}
	})
}
