package notify_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

// notebook is a receiver of notes: ids and bodies as they came.
type notebook struct {
	*ear
	heard  []string
	answer notify.Answer
	killed func()
}

func (n *notebook) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	if m.Type != notify.TypeNoted {
		return n.ear.Notify(ctx, m)
	}
	n.heard = append(n.heard, m.ID+" "+string(m.Body))
	if n.killed != nil {
		n.killed()
		<-ctx.Done()
		return notify.Answer{Verdict: notify.NoAnswer}
	}
	return n.answer
}

func put(t *testing.T, m *memory, key, value string) {
	t.Helper()
	if _, err := (bucket{memory: m}).Put(t.Context(), key, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, n := newMemory(), &notebook{ear: newEar("ops"), answer: notify.Answer{Verdict: notify.Taken}}
		deaf := newEar("deaf")
		c := notify.Config{Bus: m, Incidents: m, Name: "test", Receivers: []notify.Receiver{{Name: "ops", Notifier: n, Notes: true}, {Name: "deaf", Notifier: deaf}}}
		stop := start(t, c)
		synctest.Wait()
		x := incident{id: "inc-x"}
		put(t, m, "inc-other", `{"acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":""}}`) // nobody was told of it
		x.say(t, m, opened)
		told(t, n.ear, "inc-x.1")
		put(t, m, "inc-x", `{"acknowledged":null,"verdict":{"verdict":"right"}}`) // that is between us
		<-time.After(time.Minute)
		put(t, m, "inc-x", `{"acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":"on it"},"verdict":null,"assigned":null}`)
		<-time.After(time.Minute)
		want := `{"type":"incident.noted","timestamp":"2026-11-21T12:00:00Z","data":{"id":"inc-x","acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":"on it"},"assigned":null}}`
		if len(n.heard) != 1 || !strings.HasSuffix(n.heard[0], ".ops "+want) || !strings.HasPrefix(n.heard[0], "inc-x.note-") {
			t.Fatalf("%q", n.heard)
		}
		put(t, m, "inc-x", `{"acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":"on it"},"verdict":{"verdict":"wrong"}}`)
		stop()
		stop = start(t, c) // what was marked is not told again
		<-time.After(time.Minute)
		if len(n.heard) != 1 {
			t.Errorf("%q", n.heard)
		}
		n.answer = notify.Answer{Verdict: notify.Refused, Status: 500}
		put(t, m, "inc-x", `{"acknowledged":null,"assigned":{"to":"ben","by":"ann","at":"2026-11-21T12:05:00Z","text":""}}`)
		<-time.After(10 * time.Second)
		n.answer = notify.Answer{Verdict: notify.Taken}
		<-time.After(time.Hour)
		if len(n.heard) < 3 || n.heard[len(n.heard)-1] != n.heard[1] {
			t.Errorf("every attempt sends the same: %q", n.heard)
		}
		before := len(n.heard)
		x.say(t, m, resolved)
		told(t, n.ear, "inc-x.1", "inc-x.2")
		put(t, m, "inc-x", `{"acknowledged":{"by":"cleo","at":"2026-11-21T13:00:00Z","text":""}}`) // it is over
		<-time.After(time.Hour)
		if len(n.heard) != before {
			t.Errorf("%q", n.heard)
		}
		stop()
	})
}

// TestANoteAcrossAKill comes once more under the same id with the same bytes, and
// not again once it is marked.
func TestANoteAcrossAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, n := newMemory(), &notebook{ear: newEar("ops"), answer: notify.Answer{Verdict: notify.Taken}}
		var kills atomic.Int64
		run := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			p := &process{memory: m, dead: make(chan struct{}), cancel: cancel, kills: &kills}
			if n.killed = nil; kills.Load() == 0 {
				n.killed = func() { p.doomed = func(moment) bool { return true }; p.dies(whileSending) }
			}
			done := make(chan error, 1)
			go func() {
				done <- notify.Run(ctx, notify.Config{Bus: p, Incidents: p, Name: "test", Grace: -1, Receivers: []notify.Receiver{{Name: "ops", Notifier: n, Notes: true}}})
			}()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		stop := run()
		synctest.Wait()
		x := incident{id: "inc-x"}
		x.say(t, m, opened)
		told(t, n.ear, "inc-x.1")
		put(t, m, "inc-x", `{"acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":""}}`)
		<-time.After(10 * time.Second)
		stop()
		for range 2 {
			stop = run()
			<-time.After(time.Minute)
			stop()
		}
		if len(n.heard) != 2 || n.heard[0] != n.heard[1] || kills.Load() != 1 {
			t.Errorf("%d kills: %s", kills.Load(), fmt.Sprint(slices.Compact(n.heard)))
		}
	})
}
