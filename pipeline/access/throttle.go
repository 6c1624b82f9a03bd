package access

import (
	"net"
	"net/netip"
	"time"
)

const (
	// freeFailures logins of one address may fail before the next must wait.
	freeFailures = 5
	// The wait doubles from firstWait up to longestWait.
	firstWait   = time.Second
	longestWait = time.Minute
	// forgetAfter is the time after a failure at which an address is no longer
	// throttled.
	forgetAfter = 10 * time.Minute
	maxAddress  = 4096 // addresses that are kept
)

// throttle limits failed logins by address. It is not safe for concurrent use.
type throttle struct {
	byAddress map[netip.Prefix]*failures
}

type failures struct {
	count int
	last  time.Time
	until time.Time
}

// addressOf returns the address that a request comes from: an IPv6 host owns its /64.
func addressOf(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // a valid length
	return p
}

// wait returns how long an address must wait before its next login.
func (t *throttle) wait(a netip.Prefix, now time.Time) time.Duration {
	f := t.byAddress[a]
	if f == nil {
		return 0
	}
	if now.Sub(f.last) > forgetAfter {
		delete(t.byAddress, a)
		return 0
	}
	return max(0, f.until.Sub(now))
}

// failed notes a failed login.
func (t *throttle) failed(a netip.Prefix, now time.Time) {
	f := t.byAddress[a]
	if f == nil {
		t.makeRoom(now)
		f = &failures{}
		t.byAddress[a] = f
	}
	f.count++
	f.last = now
	if f.count >= freeFailures {
		f.until = now.Add(min(longestWait, firstWait<<min(f.count-freeFailures, 10)))
	}
}

// makeRoom removes the address whose last failure is oldest, if there are too many.
func (t *throttle) makeRoom(now time.Time) {
	if len(t.byAddress) < maxAddress {
		return
	}
	var oldest netip.Prefix
	at := now.Add(time.Hour)
	for a, f := range t.byAddress {
		if f.last.Before(at) {
			oldest, at = a, f.last
		}
	}
	delete(t.byAddress, oldest)
}

func (t *throttle) succeeded(a netip.Prefix) { delete(t.byAddress, a) }
