package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

func edge(to string, start, received telemetry.Time) *telemetry.Edge {
	return &telemetry.Edge{From: telemetry.Entity{Kind: telemetry.Node, Name: "h1"}, To: telemetry.Entity{Kind: telemetry.NIC, Name: "h1/" + to},
		Relation: telemetry.Contains, Start: start, Received: received, Source: "sysfs"}
}

func (r *running) edge(e *telemetry.Edge) {
	r.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
}

// edges are those that the log has, in order, since its n-th record.
func (l *fakeLog) edges(t *testing.T, n int) []telemetry.Edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return read(t, l.stored[n:], true).edges
}

func (l *fakeLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stored)
}

func TestOpenEdgesAreSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		defer o.close()
		begun := now()
		o.edge(edge("nic0", 5, begun))
		o.edge(edge("nic1", 5, begun))
		advance(time.Minute)
		ended := edge("nic1", 5, now())
		ended.End = now()
		o.edge(ended)
		advance(time.Second)
		n := log.len()
		advance(10 * time.Minute)
		got := log.edges(t, n)
		if len(got) != 2 {
			t.Fatalf("%d edges in ten minutes, want two renewals of one: %+v", len(got), got)
		}
		for i, e := range got {
			if e.To.Name != "h1/nic0" || e.Start != 5 || e.Received != begun.Add(time.Duration(i+1)*5*time.Minute) {
				t.Errorf("renewal %d: %+v", i, e)
			}
		}
	})
}

// An edge that ends while the log is unreachable must not be renewed after its end,
// nor with a date that overtakes it.
func TestARenewalNeverOutlivesAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		defer o.close()
		o.edge(edge("nic0", 5, now()))
		o.edge(edge("nic1", 5, now()))
		advance(time.Second)
		log.set(moodAway)
		advance(7 * time.Minute)
		ended := edge("nic0", 5, now())
		ended.End = now()
		o.edge(ended)
		advance(4 * time.Minute)
		n := log.len()
		log.set(moodStores)
		advance(time.Minute)
		for _, e := range log.edges(t, n) {
			if e.To.Name == "h1/nic0" && e.End == 0 {
				t.Errorf("said again after it ended: %+v", e)
			}
		}
		if got := log.edges(t, n); len(got) != 2 {
			t.Errorf("%d edges: one ended, one was renewed once for the whole outage: %+v", len(got), got)
		}
		stale := edge("nic1", 5, 0) // its collector's clock is behind ours
		stale.End = now()
		o.edge(stale)
		advance(time.Second)
		all := log.edges(t, n)
		last := all[len(all)-1]
		if last.End == 0 {
			t.Fatalf("%+v", last)
		}
		for _, e := range all[:len(all)-1] {
			if e.To == last.To && e.Received >= last.Received {
				t.Errorf("a renewal of %s is dated behind the end of %s", e.Received, last.Received)
			}
		}
	})
}

// A record in transit is not overtaken by its renewal.
func TestAnEdgeThatChangedIsNotRenewedBeforeItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log, Renew: time.Minute})
		defer o.close()
		o.edge(edge("nic0", 5, now()))
		advance(time.Second)
		log.set(moodAway)
		changed := edge("nic0", 5, now())
		changed.Attrs = []telemetry.Attr{{Key: "speed", Value: "1"}}
		o.edge(changed)
		advance(3 * time.Minute)
		n := log.len()
		log.set(moodStores)
		advance(2 * time.Minute)
		got := log.edges(t, n)
		if len(got) < 3 || got[0].Received != changed.Received {
			t.Fatalf("%+v, want the change first, and renewals", got)
		}
		for i, e := range got {
			if e.Attrs == nil || i > 0 && e.Received <= got[i-1].Received {
				t.Errorf("%+v: what it was before the change, or out of order", e)
			}
		}
	})
}

func TestEdgesAreRememberedWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log, RenewBytes: 4000})
		defer o.close()
		synctest.Wait() // the schema of the outbox's own report is remembered first, or would be refused like an edge
		for i := range telemetry.Time(20) {
			o.edge(edge("nic0", i+1, now()))
		}
		o.mu.Lock()
		bytes, n := o.renewals.bytes, len(o.renewals.edges)
		o.mu.Unlock()
		if bytes > 4000 || n == 0 || int(o.account.notRenewed.Get()) != 20-n {
			t.Errorf("%d bytes for %d edges, %d refused", bytes, n, o.account.notRenewed.Get())
		}
		advance(time.Second)
		if got := log.edges(t, 0); len(got) != 20 {
			t.Errorf("%d edges sent", len(got))
		}
	})
}

// schemas counts how often the log got a schema since its n-th record.
func (l *fakeLog) schemas(t *testing.T, n int, fp telemetry.Fingerprint) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.stored[n:] {
		r, err := telemetry.ParseRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == telemetry.SchemaRecord && r.Schema.Fingerprint() == fp {
			count++
		}
	}
	return count
}

func TestSchemasAreSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		p := newPlant(t, 1, 2, 12, o.Emit)
		busy, quiet := p.feeds[0].Schema().Schema.Fingerprint(), p.feeds[1].Schema().Schema.Fingerprint()
		for range 11 * 60 {
			p.sweep(0, now())
			advance(time.Second)
		}
		if a, b := log.schemas(t, 0, busy), log.schemas(t, 0, quiet); a != 3 || b != 3 {
			t.Errorf("in eleven minutes a busy source's schema was said %d times, a quiet one's %d, want 3", a, b)
		}
		o.stop()
		n := log.len()
		o.run() // the log may be another one
		p.sweep(0, now())
		advance(time.Second)
		read(t, log.stored[n:], false)
		o.close()
	})
}

func TestASchemaIsSaidBeforeItsFrameAfterALongAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		defer o.close()
		p := newPlant(t, 1, 2, 12, o.Emit)
		p.sweep(0, now())
		advance(time.Second)
		log.set(moodAway)
		p.sweep(0, now())
		p.sweep(1, now())
		advance(2 * time.Hour)
		n := log.len()
		log.set(moodStores)
		advance(10 * time.Second)
		if c := read(t, log.stored[n:], false); c.frames < 2 { // the log has forgotten what was before
			t.Errorf("%d frames", c.frames)
		}
	})
}

func TestANewerSchemaOfASourceReplacesTheOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		defer o.close()
		older, newer := schemaOf(1, 12), schemaOf(1, 18)
		for _, s := range []*telemetry.Schema{older, newer} {
			o.Emit(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
		}
		advance(11 * time.Minute)
		if a, b := log.schemas(t, 0, older.Fingerprint()), log.schemas(t, 0, newer.Fingerprint()); a != 1 || b != 3 {
			t.Errorf("the older was said %d times, the newer %d", a, b)
		}
	})
}

func TestOldSchemasMakeRoom(t *testing.T) {
	t1 := newRenewals(2000)
	said := func(source, series int) bool {
		s := schemaOf(source, series)
		b, err := telemetry.AppendRecord(nil, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		return t1.schema(s, b) && t1.record(s.Fingerprint()) != nil
	}
	for n := range 20 {
		if !said(1, 6*(n+1)) || t1.bytes > 2000 {
			t.Fatalf("schema %d of one source: no room in %d bytes", n, t1.bytes)
		}
	}
	refused := 0
	for source := range 20 {
		if !said(2+source, 6) {
			refused++
		}
	}
	if refused == 0 || t1.bytes > 2000 || len(t1.current()) != 21-refused {
		t.Errorf("%d refused, %d bytes, %d remembered", refused, t1.bytes, len(t1.current()))
	}
}
