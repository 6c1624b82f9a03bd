package gnmi

import (
	"os"
	"sync"
	"testing"
	"time"
)

// TestAThousandTargets: after a restart of all of a thousand targets with TLS,
// every session comes back, dialled 32 at once. It logs how long that took.
func TestAThousandTargets(t *testing.T) {
	if os.Getenv("QUINTET_E2E") == "" {
		t.Skip("QUINTET_E2E is not set: a thousand servers and sessions in one process")
	}
	const n = 1000
	var all []*target
	for range n {
		all = append(all, newTarget(t, counting(4, time.Second)))
	}
	c := reads(t, "openconfig", all...)
	c.pace = usualPace()
	p := newTape()
	p.quiet = true
	began := time.Now()
	playInto(t, c, p)
	p.await(t, "samples of all", func() bool { return len(p.seen) == n })
	t.Logf("%d sessions after %s", n, time.Since(began))
	var stopping sync.WaitGroup
	for _, x := range all {
		stopping.Go(x.stop)
	}
	stopping.Wait()
	p.await(t, "word that all are away", func() bool { return p.last.Err != nil })
	p.mu.Lock()
	clear(p.seen)
	p.mu.Unlock()
	for _, x := range all {
		x.start()
	}
	began = time.Now()
	p.await(t, "samples of all again", func() bool { return len(p.seen) == n })
	t.Logf("%d sessions %s after all were back", n, time.Since(began))
}
