package main

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/replay/play"
)

// TestEngineEquality kills engine, notifier and page with kill -9 at fifty random
// moments while the log goes on: what is published in the end is, byte for byte,
// what one engine that was never killed makes of the log; and a receiver that
// deduplicates by id has received each newest revision, under one body.
func TestEngineEquality(t *testing.T) {
	s := newSite(t, 50)
	s.startStore()
	s.enrolled()
	log := s.connect(s.log)
	playing := s.play(log, play.Config{From: 100e9, Speed: 8})
	const kills = 50
	for range kills {
		p := s.startEngine("engine.yaml")
		pause(s.ctx, time.Duration(s.random.Int64N(int64(900*time.Millisecond))))
		p.kill()
	}
	playing.wait()
	s.startEngine("engine.yaml")
	want := s.settled(log)
	s.await("the receiver hears the newest revisions", func() bool { return s.receiver.complete(want) })
	t.Logf("%d revisions; %d kills; %d webhooks repeated", len(want), kills, s.receiver.judge(t, want, kills))
}

// TestTransportEquality kills the log's server with kill -9, and cuts the links
// to it, while a player that resumes plays and the engine runs: the log holds
// the same records as one that nothing happened to, so the incidents are the
// same.
func TestTransportEquality(t *testing.T) {
	s := newSite(t, 12)
	store := s.startStore()
	s.enrolled()
	link := newLink(t, s.log)
	s.write("engine.yaml", "listen: \""+wiretest.FreeAddress(t)+"\"\ndata: "+s.path("engine")+"\n"+s.elsewhere(link.address)+
		"notify:\n  receivers:\n    - name: ear\n      figures: true\n      webhook: {url: \""+s.receiver.url+"\", timeout: 5s}\n")
	log := s.connect(link.address)
	s.startEngine("engine.yaml")
	var state play.State
	playing := s.play(log, play.Config{From: 100e9, Speed: 8, Begun: func(st play.State) error { state = st; return nil }})
	const troubles = 12
	for i := range troubles {
		pause(s.ctx, time.Duration(s.random.Int64N(int64(1500*time.Millisecond))))
		if i%2 == 0 {
			link.cut()
			continue
		}
		store.kill()
		pause(s.ctx, time.Duration(s.random.Int64N(int64(time.Second))))
		store = s.startStore()
	}
	playing.wait()
	want := s.settled(log)
	undisturbed := &tape{}
	if err := s.recording(s.ctx, undisturbed, play.Config{From: 100e9, Speed: -1, State: &state}); err != nil {
		t.Fatal(err)
	}
	s.sameRecords(s.entries(log), undisturbed)
	s.await("the receiver hears the newest revisions", func() bool { return s.receiver.complete(want) })
	t.Logf("%d revisions; %d kills and cuts; %d webhooks repeated", len(want), troubles, s.receiver.judge(t, want, 2*troubles))
}

// enrolled waits for the log's server and writes credentials for it.
func (s *site) enrolled() {
	s.t.Helper()
	s.await("the log's server listens", func() bool {
		c, err := net.Dial("tcp", s.log)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s.enroll()
}

// playing is a recording under way.
type playing struct {
	s    *site
	done chan error
}

func (s *site) play(into play.Log, c play.Config) *playing {
	p := &playing{s, make(chan error, 1)}
	go func() { p.done <- s.recording(s.ctx, into, c) }()
	return p
}

func (p *playing) wait() {
	p.s.t.Helper()
	p.s.what = "the end of the recording"
	select {
	case err := <-p.done:
		if err != nil {
			p.s.t.Fatal(err)
		}
	case <-p.s.ctx.Done():
		p.s.t.Fatal("the recording is not played to its end: ", context.Cause(p.s.ctx))
	}
}

// link is a TCP connection's way to the log that can be cut.
type link struct {
	address string
	mu      sync.Mutex
	open    map[net.Conn]bool
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{address: l.Addr().String(), open: map[net.Conn]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); l.Close(); k.cut() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go k.carry(ctx, from, to)
		}
	}()
	return k
}

func (k *link) carry(ctx context.Context, from net.Conn, address string) {
	var d net.Dialer
	to, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		from.Close()
		return
	}
	k.keep(from, to)
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
	from.Close()
}

func (k *link) keep(cs ...net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range cs {
		k.open[c] = true
	}
}

// cut breaks every connection under way.
func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.open {
		c.Close()
		delete(k.open, c)
	}
}
