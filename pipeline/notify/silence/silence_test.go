package silence_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/silence"
	"github.com/quintet-dc/quintet/telemetry"
)

func at(t testing.TB, s string) telemetry.Time {
	t.Helper()
	var out telemetry.Time
	if err := out.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return out
}

func matcher(t testing.TB, s string) match.Matchers {
	t.Helper()
	m, err := match.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return match.Matchers{m}
}

func TestStatesOfASpan(t *testing.T) {
	end := at(t, "2026-11-21T04:00:00Z")
	s := silence.Silence{Matchers: matcher(t, "job=x"), Start: at(t, "2026-11-21T02:00:00Z"), End: &end, CreatedBy: "ann", Comment: "c"}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]string{"2026-11-21T01:59:59.9Z": silence.Pending, "2026-11-21T02:00:00Z": silence.Active, "2026-11-21T03:59:59Z": silence.Active, "2026-11-21T04:00:00Z": silence.Expired} {
		if got := s.State(at(t, when)); got != want {
			t.Errorf("%s: %s", when, got)
		}
	}
	for when, want := range map[string]string{"2026-11-20T00:00:00Z": "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z": "2026-11-21T04:00:00Z"} {
		if got, ok := s.Change(at(t, when)); !ok || got != at(t, want) {
			t.Errorf("%s: %v %v", when, got, ok)
		}
	}
	if got, ok := s.Change(end); ok {
		t.Errorf("an expired one changes at %v", got)
	}
}

// TestWindows has windows over midnight, over the change of clocks and in other
// zones.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		name   string
		window silence.Window
		active []string
		quiet  []string
		from   string // and when it changes next
		change string
	}{
		{"over midnight", silence.Window{Days: []string{"sat"}, At: "23:00", Minutes: 180},
			[]string{"2026-11-21T23:00:00Z", "2026-11-22T01:59:59Z"}, []string{"2026-11-21T22:59:59Z", "2026-11-22T02:00:00Z", "2026-11-22T23:30:00Z"},
			"2026-11-21T22:00:00Z", "2026-11-21T23:00:00Z"},
		{"every day in Berlin", silence.Window{At: "02:00", Minutes: 60, Zone: "Europe/Berlin"},
			[]string{"2026-11-21T01:00:00Z", "2026-07-01T00:30:00Z"}, []string{"2026-11-21T02:00:00Z", "2026-07-01T01:00:00Z"},
			"2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z"},
		{"clocks go forward over it", silence.Window{Days: []string{"sun"}, At: "02:30", Minutes: 60, Zone: "Europe/Berlin"},
			[]string{"2026-03-29T01:30:00Z"}, []string{"2026-03-29T00:29:00Z", "2026-03-29T02:30:00Z"},
			"2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"},
		{"a whole week", silence.Window{Days: []string{"mon"}, At: "00:00", Minutes: 7 * 24 * 60},
			[]string{"2026-11-21T12:00:00Z", "2026-11-22T23:59:59Z"}, nil,
			"2026-11-21T12:00:00Z", ""},
		{"a day ahead in Auckland", silence.Window{Days: []string{"sun"}, At: "00:10", Minutes: 10, Zone: "Pacific/Auckland"},
			[]string{"2026-11-21T11:15:00Z"}, []string{"2026-11-21T11:20:00Z"},
			"2026-11-21T11:20:00Z", "2026-11-28T11:10:00Z"},
	} {
		s := silence.Silence{Matchers: matcher(t, "job=x"), Windows: []silence.Window{c.window}, CreatedBy: "ann", Comment: "c"}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, when := range c.active {
			if got := s.State(at(t, when)); got != silence.Active {
				t.Errorf("%s: %s at %s", c.name, got, when)
			}
		}
		for _, when := range c.quiet {
			if got := s.State(at(t, when)); got != silence.Pending {
				t.Errorf("%s: %s at %s", c.name, got, when)
			}
		}
		got, ok := s.Change(at(t, c.from))
		if ok != (c.change != "") || ok && got != at(t, c.change) {
			t.Errorf("%s: changes at %v, %v", c.name, got, ok)
		}
	}
}

// TestChangeIsTheNextOne walks a fortnight minute by minute, as an oracle.
func TestChangeIsTheNextOne(t *testing.T) {
	end := at(t, "2026-12-02T09:07:00Z")
	s := silence.Silence{Start: at(t, "2026-11-22T10:11:00Z"), End: &end, Windows: []silence.Window{
		{Days: []string{"mon", "wed"}, At: "22:00", Minutes: 300}, {Days: []string{"tue"}, At: "01:00", Minutes: 240, Zone: "America/New_York"}, {At: "09:05", Minutes: 5}, {Days: []string{"sun"}, At: "10:00", Minutes: 30}}}
	var changes []telemetry.Time
	first := at(t, "2026-11-21T00:00:00Z")
	for m, last := 0, s.State(first); m < 14*24*60; m++ {
		now := first.Add(time.Duration(m) * time.Minute)
		if state := s.State(now); state != last {
			changes, last = append(changes, now), state
		}
	}
	now := first
	for _, want := range changes {
		got, ok := s.Change(now)
		if !ok || got != want {
			t.Fatalf("after %v: %v, want %v", now, got, want)
		}
		now = got
	}
	if got, ok := s.Change(now); ok || len(changes) < 20 {
		t.Errorf("after all %d: %v", len(changes), got)
	}
}

func TestRefusals(t *testing.T) {
	end := at(t, "2026-11-21T04:00:00Z")
	good := silence.Silence{Matchers: matcher(t, "job=x"), End: &end, CreatedBy: "ann", Comment: "c"}
	for field, change := range map[string]func(*silence.Silence){
		"id":         func(s *silence.Silence) { s.ID = "sil-1" },
		"matchers":   func(s *silence.Silence) { s.Matchers = nil },
		"end":        func(s *silence.Silence) { s.End = nil },
		"created_by": func(s *silence.Silence) { s.CreatedBy = " " },
		"comment":    func(s *silence.Silence) { s.Comment = strings.Repeat("x", 2001) },
		"windows[0].days": func(s *silence.Silence) {
			s.Windows = []silence.Window{{Days: []string{"Monday"}, At: "02:00", Minutes: 1}}
		},
		"windows[0].at":      func(s *silence.Silence) { s.Windows = []silence.Window{{At: "2am", Minutes: 1}} },
		"windows[0].minutes": func(s *silence.Silence) { s.Windows = []silence.Window{{At: "02:00"}} },
		"windows[0].zone":    func(s *silence.Silence) { s.Windows = []silence.Window{{At: "02:00", Minutes: 1, Zone: "Local"}} },
		"windows":            func(s *silence.Silence) { s.Windows = make([]silence.Window, 33) },
	} {
		s := good
		change(&s)
		if err, ok := s.Validate().(*silence.Problem); !ok || err.Field != field {
			t.Errorf("%s: %v", field, s.Validate())
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// FuzzSilence reads possible values of the bucket.
func FuzzSilence(f *testing.F) {
	f.Add([]byte(`{"id":"sil-0123456789abcdef","matchers":[{"name":"job","op":"=~","value":"a|b"}],"start":"2026-11-21T02:00:00Z","end":null,"windows":[{"days":["sat"],"at":"23:00","minutes":180,"zone":"Europe/Berlin"}],"created_by":"a","comment":"c"}`), int64(1795229220000000000))
	f.Fuzz(func(t *testing.T, b []byte, now int64) {
		var s silence.Silence
		if json.Unmarshal(b, &s) != nil || s.Validate() != nil || now < 0 {
			return
		}
		when := telemetry.Time(now)
		state := s.State(when)
		next, ok := s.Change(when)
		if !ok {
			return
		}
		if next <= when || s.State(next) == state {
			t.Fatalf("%s at %v is %s, and %s at %v", b, when, state, s.State(next), next)
		}
	})
}
