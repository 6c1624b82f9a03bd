package receive

import (
	"io"
	"net/http"
	"net/netip"
	"sync"
)

// What bodies of requests over HTTP may hold in memory while they are read. Bytes
// count when they arrive, not when they are announced: a sender that sends slowly
// holds little. One address has a quarter, so that it cannot keep the others out.
const (
	bodyBytes        = 128 << 20
	bodyBytesAddress = bodyBytes / 4
)

// admission is what is reserved at present.
type admission struct {
	mu       sync.Mutex
	reserved int64
	by       map[netip.Addr]int64
}

func (a *admission) take(from netip.Addr, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reserved+n > bodyBytes || a.by[from]+n > bodyBytesAddress {
		return false
	}
	if a.by == nil {
		a.by = map[netip.Addr]int64{}
	}
	a.reserved += n
	a.by[from] += n
	return true
}

func (a *admission) give(from netip.Addr, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved -= n
	if left := a.by[from] - n; left > 0 {
		a.by[from] = left
	} else {
		delete(a.by, from)
	}
}

// admitted is a body whose bytes are counted while they are read. Read fails with a
// *fault of 429 where there is no room for more.
type admitted struct {
	body     io.Reader
	room     *admission
	from     netip.Addr
	reserved int64
}

// body bounds the body of a request: its own length, and what all of them hold. The
// caller calls release when it no longer holds what it read.
func (r *Receiver) body(w http.ResponseWriter, req *http.Request) *admitted {
	from, _ := netip.ParseAddrPort(req.RemoteAddr) // tests have none: they share one
	return &admitted{body: http.MaxBytesReader(w, req.Body, r.cfg.MaxBody), room: &r.bodies, from: from.Addr().Unmap()}
}

// Read implements io.Reader.
func (b *admitted) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 && !b.room.take(b.from, int64(n)) {
		return 0, &fault{status: http.StatusTooManyRequests, err: errBusy}
	}
	b.reserved += int64(n)
	return n, err
}

func (b *admitted) release() {
	b.room.give(b.from, b.reserved)
	b.reserved = 0
}
