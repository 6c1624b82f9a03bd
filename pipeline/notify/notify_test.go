package notify_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

const (
	opened   = explain.StateOpen
	resolved = explain.StateResolved
)

// deadOf returns the deliveries that were given up and that nothing newer has replaced.
func deadOf(ctx context.Context, b notify.Bus) ([]notify.Delivery, error) {
	all, err := notify.Deliveries(ctx, b)
	return slices.DeleteFunc(all, func(d notify.Delivery) bool { return !d.IsDead() }), err
}

func TestEachRevisionIsDeliveredOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		stop := start(t, config(m, e))
		synctest.Wait()
		a, b := incident{id: "inc-a"}, incident{id: "inc-b"}
		for _, s := range []string{opened, opened, resolved} {
			a.say(t, m, s)
			b.say(t, m, s)
			synctest.Wait()
		}
		stop()
		told(t, e, "inc-a.1", "inc-b.1", "inc-a.2", "inc-b.2", "inc-a.3", "inc-b.3")
		if n := e.check(t); n != 0 {
			t.Errorf("%d repeats", n)
		}
		for i, h := range e.all() {
			var body struct {
				Type, Timestamp string
				Data            json.RawMessage
			}
			if err := json.Unmarshal([]byte(h.body), &body); err != nil {
				t.Fatal(err)
			}
			want := []string{notify.TypeOpened, notify.TypeUpdated, notify.TypeResolved}[i/2]
			stored := m.stream[i]
			if body.Type != want || h.kind != want || string(body.Data) != string(stored.Data) || !strings.Contains(string(stored.Data), `"updated":"`+body.Timestamp+`"`) {
				t.Errorf("%s: %s", h.id, h.body)
			}
			if want := `{"type":"` + want + `","timestamp":"` + body.Timestamp + `","data":` + string(stored.Data) + `}`; h.body != want {
				t.Errorf("%s: got\n%s\nwant\n%s", h.id, h.body, want)
			}
		}
	})
}

func TestRestartMissesNothingAndRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		in := incident{id: "inc-a"}
		stop := start(t, config(m, e))
		synctest.Wait()
		in.say(t, m, opened)
		synctest.Wait()
		stop()
		in.say(t, m, opened)
		in.say(t, m, resolved)
		in.say(t, m, opened)
		<-time.After(10 * time.Hour)
		stop = start(t, config(m, e))
		told(t, e, "inc-a.1", "inc-a.3", "inc-a.4") // the second is old and superseded
		stop()
		stop = start(t, config(m, e))
		<-time.After(time.Hour)
		stop()
		told(t, e, "inc-a.1", "inc-a.3", "inc-a.4")
	})
}

func TestAQuickRestartDeliversEveryRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		in := incident{id: "inc-a"}
		stop := start(t, config(m, e))
		synctest.Wait()
		stop()
		for range 5 {
			in.say(t, m, opened)
		}
		stop = start(t, config(m, e))
		told(t, e, "inc-a.1", "inc-a.2", "inc-a.3", "inc-a.4", "inc-a.5")
		stop()
	})
}

func TestFirstStartDeliversWhatIsOpenAndWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		old, open := incident{id: "inc-old"}, incident{id: "inc-open"}
		old.say(t, m, opened)
		for range 3 {
			open.say(t, m, opened)
		}
		old.say(t, m, resolved)
		reopened := incident{id: "inc-again"}
		reopened.say(t, m, opened)
		reopened.say(t, m, resolved)
		reopened.say(t, m, opened)
		e := newEar("ops")
		stop := start(t, config(m, e))
		told(t, e, "inc-open.3", "inc-again.3")
		old.say(t, m, opened)
		open.say(t, m, resolved)
		told(t, e, "inc-open.3", "inc-again.3", "inc-old.3", "inc-open.4")
		stop()
		// A receiver that joins later is served from where it joins.
		late := newEar("late")
		stop = start(t, config(m, e, late))
		told(t, late, "inc-again.3", "inc-old.3")
		told(t, e, "inc-open.3", "inc-again.3", "inc-old.3", "inc-open.4")
		stop()
	})
}

func TestFirstStartOnAnAgedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		in := incident{id: "inc-a"}
		in.say(t, m, opened)
		m.forget(1)
		stop := start(t, config(m, e))
		synctest.Wait()
		in.say(t, m, opened)
		told(t, e, "inc-a.2")
		stop()
	})
}

func TestAfterALongAbsenceOnlyWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		in, other := incident{id: "inc-a"}, incident{id: "inc-b"}
		stop := start(t, config(m, e))
		in.say(t, m, opened)
		told(t, e, "inc-a.1")
		stop()
		in.say(t, m, resolved)
		other.say(t, m, opened)
		<-time.After(80 * time.Hour)
		stop = start(t, config(m, e))
		told(t, e, "inc-a.1", "inc-b.1")
		in.say(t, m, opened)
		told(t, e, "inc-a.1", "inc-b.1", "inc-a.3")
		stop()
	})
}

func TestFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, pager, risks := newMemory(), newEar("pager"), newEar("risks")
		c := config(m, pager, risks)
		c.Receivers[0].Severities = []string{explain.SeverityCritical}
		c.Receivers[1].Kinds = []string{explain.KindRisk}
		stop := start(t, c)
		synctest.Wait()
		in := incident{id: "inc-a", severity: explain.SeverityInfo, kind: explain.KindRisk}
		in.say(t, m, opened)
		in.severity, in.kind = explain.SeverityCritical, explain.KindIncident
		in.say(t, m, opened)
		in.severity = explain.SeverityInfo
		in.say(t, m, resolved)
		mild := incident{id: "inc-b", severity: explain.SeverityWarning}
		mild.say(t, m, opened)
		mild.say(t, m, resolved)
		told(t, pager, "inc-a.2", "inc-a.3") // what it heard of, it hears of to the end
		told(t, risks, "inc-a.1", "inc-a.2", "inc-a.3")
		stop()
	})
}

func TestScheduleAndDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 500, Reason: "it answered 500"})
		in := incident{id: "inc-a"}
		c := config(m, e)
		c.Random = func() float64 { return 0.5 } // no jitter
		stop := start(t, c)
		synctest.Wait()
		in.say(t, m, opened)
		var dead []notify.Delivery
		await(t, func() bool {
			var err error
			if dead, err = deadOf(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			return len(dead) > 0
		})
		h := e.all()
		var delays []time.Duration
		for i := 1; i < len(h); i++ {
			delays = append(delays, h[i].at.Sub(h[i-1].at))
		}
		s, min, hour := time.Second, time.Minute, time.Hour
		want := []time.Duration{5 * s, 15 * s, 30 * s, min, 2 * min, 5 * min, 10 * min, 20 * min, 40 * min, 80 * min, 160 * min, 5 * hour, 8 * hour, 12 * hour, 18 * hour, 24 * hour}
		if !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
		if all := h[len(h)-1].at.Sub(h[0].at); all < 72*hour || all > 73*hour {
			t.Errorf("it lasts %v", all)
		}
		if d := dead[0]; len(dead) != 1 || d.Incident != "inc-a" || d.Receiver != "ops" || d.Attempt != 17 || d.Status != 500 || d.Reason == "" || d.Dead != 1 || d.Repeats != 0 {
			t.Errorf("%+v", dead)
		}
		// Later revisions are sent again, and from the first step of the schedule.
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		in.say(t, m, resolved)
		told(t, e, "inc-a.2")
		if dead, _ := deadOf(t.Context(), m); len(dead) != 0 {
			t.Errorf("%+v", dead)
		}
		stop()
	})
}

func TestScheduleSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 500})
		in := incident{id: "inc-a"}
		c := config(m, e)
		c.Random = func() float64 { return 0.5 }
		began := time.Now()
		for range 40 { // killed and started every 50 s
			stop := start(t, c)
			if in.number == 0 {
				synctest.Wait()
				in.say(t, m, opened)
			}
			<-time.After(50 * time.Second)
			stop()
		}
		var at []time.Duration
		for _, h := range e.all() {
			at = append(at, h.at.Sub(began).Round(time.Second))
		}
		s := time.Second
		if want := []time.Duration{0, 5 * s, 20 * s, 50 * s, 110 * s, 230 * s, 530 * s, 1130 * s}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestJitterStaysWithinAFifth(t *testing.T) {
	for _, r := range []float64{0, 0.25, 0.999} {
		synctest.Test(t, func(t *testing.T) {
			m, e := newMemory(), newEar("ops")
			e.always(notify.Answer{Verdict: notify.Refused, Status: 500})
			in := incident{id: "inc-a"}
			c := config(m, e)
			c.Random = func() float64 { return r }
			stop := start(t, c)
			synctest.Wait()
			in.say(t, m, opened)
			await(t, func() bool { return len(e.all()) >= 2 })
			stop()
			d := e.all()[1].at.Sub(e.all()[0].at)
			if want := time.Duration((0.8 + 0.4*r) * 5e9); d < want-time.Millisecond || d > want+time.Millisecond {
				t.Errorf("random %v: %v, want %v", r, d, want)
			}
		})
	}
}

func TestRetryAfterIsHonouredWithinBounds(t *testing.T) {
	for _, c := range []struct{ wish, from, to time.Duration }{
		{7 * time.Minute, 7 * time.Minute, 7 * time.Minute * 12 / 10},
		{time.Second, 5 * time.Second, 6 * time.Second},           // not below the schedule's first step
		{30 * 24 * time.Hour, time.Hour, time.Hour * 12 / 10},     // a wrong header does not silence it for a month
		{20 * time.Second, 20 * time.Second, 24 * time.Second},    // sooner than the schedule would
		{90 * time.Minute, time.Hour, time.Hour + 12*time.Minute}, // bounded
	} {
		synctest.Test(t, func(t *testing.T) {
			m, e := newMemory(), newEar("ops")
			e.reply(func(_ context.Context, n int, _ hearing) notify.Answer {
				if n == 0 {
					return notify.Answer{Verdict: notify.Refused, Status: 429, After: c.wish}
				}
				return notify.Answer{Verdict: notify.Taken, Status: 200}
			})
			a, b := incident{id: "inc-a"}, incident{id: "inc-b"}
			stop := start(t, config(m, e))
			synctest.Wait()
			a.say(t, m, opened)
			synctest.Wait()
			b.say(t, m, opened) // others wait, too: the receiver asked, not the message
			await(t, func() bool { return len(e.ids()) == 2 })
			stop()
			for _, h := range e.all()[1:] {
				if d := h.at.Sub(e.all()[0].at); d < min(c.from, c.wish) || d > c.to {
					t.Errorf("wish %v: %s came after %v", c.wish, h.id, d)
				}
			}
		})
	}
}
