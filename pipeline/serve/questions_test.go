package serve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// hanging is an engine that answers after a while, or returns when ctx is done.
type hanging struct {
	after  time.Duration
	asked  int
	answer string
}

func (h *hanging) Ask(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	h.asked++
	select {
	case <-time.After(h.after):
		return []byte(h.answer), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const oneOpen = `{"incidents":[{"id":"inc-0000000000000001","state":"open","revision":1}]}`

// TestReadersOfAHangingEngineWaitTogether: four readers of an engine that does
// not answer wait for one timeout, not for four.
func TestReadersOfAHangingEngineWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{after: time.Hour}
		l := &live{questions: &questions{asker: h, closing: t.Context()}, now: time.Now}
		began, done := time.Now(), make(chan struct{})
		for range 4 {
			go func() { l.incidents(t.Context()); done <- struct{}{} }()
		}
		for range 4 {
			<-done
		}
		if took := time.Since(began); took != askTimeout || h.asked != 1 {
			t.Errorf("four readers took %s and %d requests, want %s and 1", took, h.asked, askTimeout)
		}
	})
}

// TestACancelledReaderLeavesNoAnswer: a reader that goes away while the engine is
// being asked neither ends the request nor leaves others an empty answer.
func TestACancelledReaderLeavesNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{after: time.Second, answer: oneOpen}
		l := &live{questions: &questions{asker: h, closing: t.Context()}, now: time.Now}
		gone, leave := context.WithCancel(t.Context())
		first, second := make(chan int), make(chan int)
		go func() { first <- len(l.incidents(gone)) }()
		synctest.Wait()
		go func() { second <- len(l.incidents(t.Context())) }()
		synctest.Wait()
		leave()
		if n := <-first; n != 0 {
			t.Errorf("the cancelled reader got %d incidents", n)
		}
		if n := <-second; n != 1 || h.asked != 1 {
			t.Errorf("the other reader got %d incidents of %d requests, want 1 of 1", n, h.asked)
		}
		if n := len(l.incidents(t.Context())); n != 1 || h.asked != 1 {
			t.Errorf("the next reader got %d incidents of %d requests, want 1 of 1", n, h.asked)
		}
	})
}
