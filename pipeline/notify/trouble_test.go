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

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

func TestSupersededRevisionsArePassedOverOnceOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		refuse := notify.Answer{Verdict: notify.Refused, Status: 500}
		e.always(refuse)
		stop := start(t, config(m, e))
		synctest.Wait()
		in := incident{id: "inc-a"}
		for _, s := range []string{opened, opened, opened, resolved, opened, opened} {
			in.say(t, m, s)
			<-time.After(time.Second)
		}
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		told(t, e, "inc-a.4", "inc-a.5", "inc-a.6") // what resolves is never passed over; the fifth never failed
		stop()
		all, err := notify.Deliveries(t.Context(), m)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if d := all[0]; d.Done != 6 || d.Delivered != 3 || d.Skipped != 3 || d.Outcome != notify.OutcomeDelivered || d.Repeats != 0 {
			t.Errorf("%+v", d)
		}
		if n := e.check(t); n != 0 {
			t.Errorf("%d repeats", n)
		}
	})
}

func TestANewRevisionIsReasonToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 503})
		stop := start(t, config(m, e))
		synctest.Wait()
		in := incident{id: "inc-a"}
		in.say(t, m, opened)
		<-time.After(20 * time.Hour) // by now hours lie between attempts
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		began := time.Now()
		in.say(t, m, resolved)
		synctest.Wait()
		told(t, e, "inc-a.2")
		if d := e.all()[len(e.all())-1].at.Sub(began); d != 0 {
			t.Errorf("told after %v", d)
		}
		stop()
	})
}

func TestGoneDisablesTheReceiverUntilItIsConfiguredOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Gone, Status: 410})
		stop := start(t, config(m, e))
		synctest.Wait()
		old, in := incident{id: "inc-old"}, incident{id: "inc-a"}
		old.say(t, m, opened)
		synctest.Wait()
		in.say(t, m, opened)
		old.say(t, m, resolved)
		<-time.After(time.Hour)
		stop()
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		stop = start(t, config(m, e)) // as before
		in.say(t, m, opened)
		<-time.After(time.Hour)
		stop()
		if n := len(e.all()); n != 1 {
			t.Fatalf("%d messages to a receiver that is gone", n)
		}
		e.print = "another address"
		stop = start(t, config(m, e))
		synctest.Wait()
		in.say(t, m, resolved)
		told(t, e, "inc-a.2", "inc-a.3") // open when it came back, and what came then
		stop()
		dead, err := deadOf(t.Context(), m)
		if err != nil || len(dead) != 1 || dead[0].Incident != "inc-old" || dead[0].Outcome != notify.OutcomeGone || dead[0].Status != 410 {
			t.Errorf("%+v, %v", dead, err)
		}
	})
}

func TestAnotherAddressIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 404})
		stop := start(t, config(m, e))
		synctest.Wait()
		in := incident{id: "inc-a"}
		in.say(t, m, opened)
		<-time.After(20 * time.Hour)
		stop()
		e.print = "another address"
		began := time.Now()
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		stop = start(t, config(m, e))
		synctest.Wait()
		stop()
		told(t, e, "inc-a.1")
		if d := e.all()[len(e.all())-1].at.Sub(began); d != 0 {
			t.Errorf("told after %v", d)
		}
	})
}

// hang answers nothing until the attempt ends.
func hang(ctx context.Context, _ int, _ hearing) notify.Answer {
	<-ctx.Done()
	return notify.Answer{Verdict: notify.NoAnswer, Reason: "no answer in time"}
}

func TestAReceiverThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, slow, quick := newMemory(), newEar("slow"), newEar("quick")
		slow.reply(hang)
		stop := start(t, config(m, slow, quick))
		synctest.Wait()
		began := time.Now()
		var want []string
		for i := range 50 {
			in := incident{id: fmt.Sprintf("inc-%02d", i)}
			in.say(t, m, opened)
			want = append(want, in.id+".1")
		}
		synctest.Wait()
		if !time.Now().Equal(began) {
			t.Fatal("time has passed")
		}
		told(t, quick, want...)
		if n := len(slow.all()); n != 1 {
			t.Errorf("%d attempts at once at a receiver that hangs", n)
		}
		<-time.After(14 * time.Second)
		slow.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		await(t, func() bool { return len(slow.missing(m)) == 0 })
		stop()
		if repeats := slow.check(t); repeats != 1 {
			t.Errorf("%d repeats for one timeout", repeats)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		c := config(m, e)
		c.Receivers[0].Concurrent = 3
		e.reply(func(ctx context.Context, _ int, _ hearing) notify.Answer {
			<-time.After(time.Second)
			return notify.Answer{Verdict: notify.Taken, Status: 200}
		})
		stop := start(t, c)
		synctest.Wait()
		began := time.Now()
		for i := range 30 {
			in := incident{id: fmt.Sprintf("inc-%02d", i)}
			in.say(t, m, opened)
			in.say(t, m, opened)
		}
		await(t, func() bool { return len(e.ids()) == 60 })
		stop()
		for i, h := range e.all() {
			if d := h.at.Sub(began); d != time.Duration(i/3)*time.Second {
				t.Errorf("message %d came after %v", i, d)
			}
		}
		e.check(t)
	})
}

func TestStopLetsARequestEndAndBreaksOffOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.reply(func(ctx context.Context, _ int, _ hearing) notify.Answer {
			<-time.After(4 * time.Second)
			return notify.Answer{Verdict: notify.Taken, Status: 200}
		})
		in, other := incident{id: "inc-a"}, incident{id: "inc-b"}
		stop := start(t, config(m, e))
		synctest.Wait()
		in.say(t, m, opened)
		synctest.Wait()
		stop()
		told(t, e, "inc-a.1")
		e.reply(hang)
		stop = start(t, config(m, e))
		synctest.Wait()
		other.say(t, m, opened)
		synctest.Wait()
		began := time.Now()
		stop()
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("stopping took %v", d)
		}
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		stop = start(t, config(m, e))
		synctest.Wait() // no lease need be waited out
		told(t, e, "inc-a.1", "inc-b.1")
		stop()
		if n := e.check(t); n != 1 {
			t.Errorf("%d repeats, want the one that was broken off", n)
		}
	})
}

func TestRevisionsThatCannotBeDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		stop := start(t, config(m, e))
		synctest.Wait()
		in := incident{id: "inc-a"}
		for _, bad := range []struct {
			id   string
			data string
		}{
			{"inc-x", "no JSON"},
			{"inc-x", `{"id":"inc-y","revision":1,"state":"open","updated":"2026-11-21T02:47:00Z"}`},
			{"inc-x", `{"id":"inc-x","revision":2,"state":"open","updated":"2026-11-21T02:47:00Z"}`},
			{"inc-x", `{"id":"inc-x","revision":1,"state":"odd","updated":"2026-11-21T02:47:00Z"}`},
			{"inc-x", `{"id":"inc-x","revision":1,"state":"open","updated":"now"}`},
			{"in c\n", `{"id":"in c\n","revision":1,"state":"open","updated":"2026-11-21T02:47:00Z"}`},
		} {
			m.publish(bad.id, 1, []byte(bad.data))
		}
		in.say(t, m, opened)
		told(t, e, "inc-a.1")
		stop()
		if n := len(e.all()); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestMemoryIsBoundedAndWhatIsBeyondIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 500})
		stop := start(t, config(m, e))
		synctest.Wait()
		var want []string
		for i := range 24 { // 6 MiB, of which 4 are kept
			id := fmt.Sprintf("inc-%02d", i)
			data := fmt.Sprintf(`{"id":%q,"revision":1,"state":"open","updated":"2026-11-21T02:47:00Z","title":%q}`, id, strings.Repeat("x", 256<<10))
			m.publish(id, 1, []byte(data))
			want = append(want, id+".1")
		}
		<-time.After(time.Hour)
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		await(t, func() bool { return len(e.missing(m)) == 0 })
		stop()
		got := e.ids()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		e.check(t)
	})
}

func TestWhatTheStreamForgotIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 500})
		stop := start(t, config(m, e))
		synctest.Wait()
		in, other := incident{id: "inc-a"}, incident{id: "inc-b"}
		in.say(t, m, opened)
		<-time.After(20 * time.Hour)
		m.forget(m.last)
		other.say(t, m, opened)
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		told(t, e, "inc-b.1")
		var d notify.Delivery
		await(t, func() bool {
			all, err := notify.Deliveries(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(d notify.Delivery) bool { return d.Incident == "inc-a" })
			d = all[i]
			return d.State == notify.StateDone
		})
		if d.Outcome != notify.OutcomeForgotten {
			t.Errorf("%+v", d)
		}
		stop()
	})
}

// away is a bus whose bucket and stream cannot be reached for a while.
type away struct {
	*memory
	gone *atomic.Bool
}

func (a away) KeyValue(ctx context.Context, name string) (jetstream.KeyValue, error) {
	if a.gone.Load() {
		return nil, context.DeadlineExceeded
	}
	return awayBucket{bucket{memory: a.memory}, a.gone}, nil
}

func (a away) Bounds(ctx context.Context) (uint64, uint64, error) {
	if a.gone.Load() {
		return 0, 0, context.DeadlineExceeded
	}
	return a.memory.Bounds(ctx)
}

type awayBucket struct {
	bucket
	gone *atomic.Bool
}

func (b awayBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.gone.Load() {
		return nil, context.DeadlineExceeded
	}
	return b.bucket.Get(ctx, key)
}

func (b awayBucket) Create(ctx context.Context, key string, v []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	if b.gone.Load() {
		return 0, context.DeadlineExceeded
	}
	return b.bucket.Create(ctx, key, v)
}

func (b awayBucket) Update(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	if b.gone.Load() {
		return 0, context.DeadlineExceeded
	}
	return b.bucket.Update(ctx, key, v, revision)
}

func TestWithoutTheBucketNothingIsSentAndAnAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		gone.Store(true)
		m, e := newMemory(), newEar("ops")
		stop := start(t, config(away{m, &gone}, e))
		<-time.After(time.Minute)
		gone.Store(false)
		<-time.After(10 * time.Second)
		in := incident{id: "inc-a"}
		e.reply(func(context.Context, int, hearing) notify.Answer {
			gone.Store(true) // between the request and its mark
			return notify.Answer{Verdict: notify.Taken, Status: 200}
		})
		in.say(t, m, opened)
		synctest.Wait()
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		in.say(t, m, opened)
		<-time.After(time.Minute)
		if n := len(e.all()); n != 1 {
			t.Errorf("%d messages sent", n)
		}
		gone.Store(false)
		told(t, e, "inc-a.1", "inc-a.2")
		stop()
		if n := e.check(t); n != 0 {
			t.Errorf("%d repeats", n)
		}
	})
}

var _ notify.Bus = (*bus.Bus)(nil)
