package collectors

import (
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// speakerFor is how long the collector that reported a topic remains its reporter:
// the slowest other source, a library that is asked once a minute, reports within
// it.
const speakerFor = telemetry.Duration(75 * time.Second)

// maxSpoken bounds what is remembered of who spoke.
const maxSpoken = 4096

// speakers ensures that an event that several collectors of a process observe is
// reported once: an XID is in the kernel's log, in its copies by syslog, and in the
// driver's library. As with a series, one collector reports at a time,
// the first to come, and another only when that one has not reported for a while; a
// collector that cannot read its log is thus replaced by one that can.
type speakers struct {
	mu     sync.Mutex
	spoken map[topic]spoken
}

// topic is what an event is about, in whatever words.
type topic struct {
	entity telemetry.Entity
	name   telemetry.EventName
	code   string
}

// spoken is the collector that reported a topic, and when it last happened.
type spoken struct {
	by *worker
	at telemetry.Time
}

// topicOf returns an event's topic; false for an event with one source only.
func topicOf(e *telemetry.Event) (topic, bool) {
	if e.Name != telemetry.EventXID {
		return topic{}, false
	}
	code := e.Text
	if i := strings.IndexFunc(code, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		code = code[:i]
	}
	return topic{e.Entity, e.Name, code}, code != ""
}

// mayEmit reports whether a worker is to report an event: no other has within
// speakerFor of it.
func (s *speakers) mayEmit(w *worker, e *telemetry.Event) bool {
	t, ok := topicOf(e)
	if !ok {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, received := s.spoken[t]
	if received && last.by != w && e.At.Sub(last.at) < speakerFor && last.at.Sub(e.At) < speakerFor {
		return false
	}
	if !received && len(s.spoken) >= maxSpoken {
		s.forget(e.At)
		if len(s.spoken) >= maxSpoken {
			return true // better twice than not at all
		}
	}
	if received && last.by == w {
		s.spoken[t] = spoken{w, max(last.at, e.At)}
	} else {
		s.spoken[t] = spoken{w, e.At}
	}
	return true
}

// forget drops what is over at a time.
func (s *speakers) forget(now telemetry.Time) {
	for t, last := range s.spoken { // order-independent: each is judged by itself
		if now.Sub(last.at) >= speakerFor {
			delete(s.spoken, t)
		}
	}
}
