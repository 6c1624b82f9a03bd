package notify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

// moment is where in its work a process is killed.
type moment int

// The moments. A write to the bucket may have happened although the process never
// received the response.
const (
	beforeClaim moment = iota
	afterClaim
	whileSending // the receiver has heard it; nobody hears the answer
	beforeMark
	afterMark
	beforeStanding
	afterStanding
	moments
)

func (m moment) String() string {
	return [...]string{"before the claim", "after the claim", "while sending", "before the mark", "after the mark",
		"before the standing", "after the standing"}[m]
}

// process is one process of the notifier: its way to the bus and to its
// receivers. Killed, it can reach neither, and nothing that it does counts.
type process struct {
	*memory
	mu     sync.Mutex
	dead   chan struct{}
	cancel context.CancelFunc
	// doomed returns whether to die at a moment; nil never.
	doomed func(moment) bool
	kills  *atomic.Int64
}

// dies reports whether the process is dead, or dies now.
func (p *process) dies(at moment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDead() {
		return true
	}
	if p.doomed == nil || !p.doomed(at) {
		return false
	}
	close(p.dead)
	p.kills.Add(1)
	p.cancel()
	return true
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

func (p *process) KeyValue(context.Context, string) (jetstream.KeyValue, error) {
	return processBucket{bucket{memory: p.memory}, p}, nil
}

func (p *process) Follow(ctx context.Context, after uint64, fn func(bus.Revision) error) error {
	return p.memory.Follow(ctx, after, func(r bus.Revision) error {
		if p.isDead() {
			return errKilled
		}
		return fn(r)
	})
}

type processBucket struct {
	bucket
	p *process
}

func (b processBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.p.isDead() {
		return nil, errKilled
	}
	return b.bucket.Get(ctx, key)
}

func (b processBucket) Create(ctx context.Context, key string, v []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.around(key, v, func() (uint64, error) { return b.bucket.Create(ctx, key, v) })
}

func (b processBucket) Update(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	return b.around(key, v, func() (uint64, error) { return b.bucket.Update(ctx, key, v, revision) })
}

func (b processBucket) around(key string, v []byte, write func() (uint64, error)) (uint64, error) {
	before, after := beforeStanding, afterStanding
	if strings.HasPrefix(key, "delivery.") {
		before, after = beforeMark, afterMark
		if strings.Contains(string(v), `"state":"claimed"`) {
			before, after = beforeClaim, afterClaim
		}
	}
	if b.p.dies(before) {
		return 0, errKilled
	}
	revision, err := write()
	if b.p.dies(after) {
		return 0, errKilled
	}
	return revision, err
}

// mouth is an ear as a process reaches it.
type mouth struct {
	*ear
	p *process
}

func (m mouth) Notify(ctx context.Context, msg *notify.Message) notify.Answer {
	if m.p.isDead() {
		return notify.Answer{Verdict: notify.NoAnswer}
	}
	a := m.ear.Notify(ctx, msg)
	if m.p.dies(whileSending) {
		return notify.Answer{Verdict: notify.NoAnswer}
	}
	return a
}

// launch runs a process until it is killed, and returns when it is gone.
func launch(t *testing.T, m *memory, kills *atomic.Int64, doomed func(moment) bool, ears ...*ear) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &process{memory: m, dead: make(chan struct{}), cancel: cancel, doomed: doomed, kills: kills}
	c := config(p, ears...)
	c.Grace = -1
	for i, e := range ears {
		c.Receivers[i].Notifier = mouth{e, p}
	}
	if err := notify.Run(ctx, c); err != nil {
		t.Error(err)
	}
}

// settled waits until a receiver has taken everything it must.
func settled(t *testing.T, m *memory, e *ear) {
	t.Helper()
	await(t, func() bool { return len(e.missing(m)) == 0 })
}

func TestKilledAtEveryMoment(t *testing.T) {
	for at := range moments {
		for nth := range 4 {
			t.Run(fmt.Sprintf("%v %d", at, nth+1), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { killedAt(t, at, nth) })
			})
		}
	}
}

// killedAt kills a process when it comes to a moment for the n-th time; another
// is started at once.
func killedAt(t *testing.T, at moment, n int) {
	m, e := newMemory(), newEar("ops")
	var kills atomic.Int64
	left := n
	doomed := func(now moment) bool {
		if now == at {
			left--
		}
		return left < 0 && kills.Load() == 0
	}
	var running sync.WaitGroup
	running.Go(func() {
		for t.Context().Err() == nil {
			launch(t, m, &kills, doomed, e)
		}
	})
	in, other := incident{id: "inc-a"}, incident{id: "inc-b"}
	for i := range 8 {
		<-time.After(5 * time.Second)
		in.say(t, m, []string{opened, opened, resolved, opened}[i%4])
		other.say(t, m, opened)
	}
	settled(t, m, e)
	await(t, func() bool { return kills.Load() == 1 || at == beforeStanding || at == afterStanding })
	repeats := e.check(t)
	if want := map[moment]int{whileSending: 1, beforeMark: 1}[at]; repeats != want {
		t.Errorf("%d repeats, want %d", repeats, want)
	}
	if ids := e.ids(); len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 16 {
		t.Errorf("not all of 16 revisions were told: %v", ids)
	}
}

func TestKilledOverAndOver(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
	}
}

// chaos runs two notifiers side by side, which are killed at random moments and
// started again, over receivers that answer in every way.
func chaos(t *testing.T, seed uint64) {
	m, ops, page := newMemory(), newEar("ops"), newEar("page")
	var mu sync.Mutex
	random, silent := rand.New(rand.NewPCG(seed, 7)), map[string]int{}
	var kills atomic.Int64
	var wild atomic.Bool
	wild.Store(true)
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	doomed := func(moment) bool { return wild.Load() && draw(25) == 0 }
	for _, e := range []*ear{ops, page} {
		e.reply(func(ctx context.Context, _ int, h hearing) notify.Answer {
			return whim(ctx, draw(12), e.name, silent, &mu)
		})
	}
	for range 2 {
		go func() {
			for t.Context().Err() == nil {
				launch(t, m, &kills, doomed, ops, page)
				select {
				case <-t.Context().Done():
				case <-time.After(time.Duration(draw(40)) * time.Second):
				}
			}
		}()
	}
	ins := [4]incident{{id: "inc-a"}, {id: "inc-b"}, {id: "inc-c"}, {id: "inc-d"}}
	<-time.After(time.Minute) // whoever comes first begins with an empty stream
	for range 60 {
		<-time.After(time.Duration(draw(20)) * time.Second)
		ins[draw(4)].say(t, m, []string{opened, opened, resolved}[draw(3)])
	}
	wild.Store(false)
	for _, e := range []*ear{ops, page} {
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		settled(t, m, e)
		mu.Lock()
		unheard := silent[e.name]
		mu.Unlock()
		if repeats := e.check(t); int64(repeats) > kills.Load()+int64(unheard) {
			t.Errorf("seed %d: %s: %d repeats, %d kills, %d without an answer", seed, e.name, repeats, kills.Load(), unheard)
		}
	}
	if kills.Load() == 0 {
		t.Errorf("seed %d: nothing was killed", seed)
	}
	<-time.After(time.Minute) // a killed process may still wait for an answer
}

// whim is one of the ways in which a receiver answers.
func whim(ctx context.Context, n int, name string, silent map[string]int, mu *sync.Mutex) notify.Answer {
	quiet := func(reason string) notify.Answer {
		mu.Lock()
		defer mu.Unlock()
		silent[name]++
		return notify.Answer{Verdict: notify.NoAnswer, Reason: reason}
	}
	switch n {
	case 0:
		<-ctx.Done()
		return quiet("no answer in time")
	case 1:
		return quiet("closed")
	case 2:
		return notify.Answer{Verdict: notify.Refused, Status: 429, After: 11 * time.Second}
	case 3:
		return notify.Answer{Verdict: notify.Refused, Status: 500}
	case 4:
		<-time.After(3 * time.Second)
	}
	return notify.Answer{Verdict: notify.Taken, Status: 201}
}

func TestTwoSideBySideNeverSendTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		var stops []func()
		for i := range 3 {
			c := config(m, e)
			c.Name = []string{"one", "two", "two"}[i] // a name is not an identity
			c.Receivers[0].Concurrent = 4
			stops = append(stops, start(t, c))
		}
		synctest.Wait()
		var want []string
		for i := range 200 {
			in := incident{id: fmt.Sprintf("inc-%02d", i%20), number: i / 20}
			in.say(t, m, opened)
			want = append(want, fmt.Sprintf("%s.%d", in.id, in.number))
			if i%5 == 0 {
				<-time.After(time.Millisecond)
			}
		}
		await(t, func() bool { return len(e.ids()) >= len(want) })
		for _, stop := range stops {
			stop()
		}
		got := e.ids()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || e.check(t) != 0 {
			t.Errorf("%d messages, %d wanted", len(got), len(want))
		}
	})
}

func TestAClaimIsRespectedForItsLease(t *testing.T) {
	for _, alone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, e := newMemory(), newEar("ops")
			var kills atomic.Int64
			in := incident{id: "inc-a"}
			go func() {
				<-time.After(time.Second)
				in.say(t, m, opened)
			}()
			launch(t, m, &kills, func(at moment) bool { return at == whileSending }, e)
			began := time.Now()
			c := config(m, e)
			c.Alone = alone
			stop := start(t, c)
			told(t, e, "inc-a.1", "inc-a.1")
			stop()
			want := 20 * time.Second // 15 s of timeout and 5 s for the mark
			if alone {
				want = 0
			}
			if d := e.all()[1].at.Sub(began); d != want {
				t.Errorf("alone %v: taken over after %v, want %v", alone, d, want)
			}
			all, err := notify.Deliveries(t.Context(), m)
			if err != nil || len(all) != 1 || all[0].Repeats != 1 || all[0].Attempt != 2 {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}
