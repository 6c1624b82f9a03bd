package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// blinded are runs in which collectors are killed and come back, each with what
// must be found all the same. The intervals of the faults are in truth.json.
var blinded = []struct {
	run            string
	root           string // "" where nothing is wrong
	onset, cleared telemetry.Duration
}{
	{"healthy-2", "", 0, 0},
	{"slownic-2", "nic:h9/nic0", 142e9, 300e9},
	{"ecmp-2", "port:leaf0/p9", 158e9, 305e9},
	{"ctlcompute-3", "node:h8", 141e9, 315e9},
}

// TestBlindness kills collectors at random moments, for 5 to 40 s: those of one
// host, of one switch, of all hosts, of all switches, or the reports of steps of
// jobs. No false incident is reported; a fault whose degradation is outside of the
// gap is found, at its root, once.
func TestBlindness(t *testing.T) {
	for _, b := range blinded {
		t.Run(b.run, func(t *testing.T) {
			t.Parallel()
			records := recordsOf(t, "../testdata/roce/"+b.run)
			for seed := range uint64(10) {
				g := newGap(rand.New(rand.NewPCG(seed, 7)), records, b.onset, b.cleared)
				got := judged(t, g.without(records))
				if told := judgeBlind(got.Incidents(), b.root); told != "" {
					t.Errorf("seed %d, %s: %s", seed, g, told)
				}
				g.told(t, records, got.Gaps())
			}
		})
	}
}

// judgeBlind reports what is wrong with what was found.
func judgeBlind(got []explain.Incident, root string) string {
	switch {
	case root == "" && len(got) > 0:
		return "told of " + got[0].Title
	case root == "":
		return ""
	case len(got) != 1:
		return fmt.Sprintf("%d incidents, want one", len(got))
	case got[0].Root.Entity.String() != root:
		return fmt.Sprintf("root %s, want %s", got[0].Root.Entity, root)
	}
	return ""
}

func recordsOf(t *testing.T, path string) (out []*telemetry.Record) {
	t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if err := rec.Each(func(_ uint64, r *telemetry.Record) error {
		out = append(out, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// judged is what one engine makes of records.
func judged(t *testing.T, records []*telemetry.Record) *engine.Runner {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.New(engine.Config{Correlate: correlate.Config{Signatures: set.Signatures, Rules: set.Digest}})
	if err != nil {
		t.Fatal(err)
	}
	for i, record := range records {
		if _, err := r.Apply(uint64(i)+1, record); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// gap is an interval in which the collectors of some sources do not run.
type gap struct {
	from, to telemetry.Time
	who      string
	sources  map[telemetry.Fingerprint]bool
}

func (g *gap) String() string {
	return fmt.Sprintf("%s %s to %s", g.who, g.from.Clock(), g.to.Clock())
}

// newGap draws a gap outside [onset, cleared].
func newGap(r *rand.Rand, records []*telemetry.Record, onset, cleared telemetry.Duration) *gap {
	length := telemetry.Duration(5e9 + r.Int64N(35e9))
	from := telemetry.Duration(30e9 + r.Int64N(70e9))
	if onset == 0 {
		from = telemetry.Duration(30e9 + r.Int64N(200e9))
	} else if r.IntN(2) == 0 {
		from = cleared
	}
	if onset != 0 && from < onset {
		length = min(length, onset-from-5e9)
	}
	first := firstTick(records)
	g := &gap{from: first.Add(from), to: first.Add(from + length), sources: map[telemetry.Fingerprint]bool{}}
	var hosts, switches, steps []*telemetry.Schema
	for _, rec := range records {
		if rec.Kind != telemetry.SchemaRecord {
			continue
		}
		switch rec.Schema.Entities[0].Kind {
		case telemetry.NIC:
			hosts = append(hosts, rec.Schema)
		case telemetry.Port:
			switches = append(switches, rec.Schema)
		default:
			steps = append(steps, rec.Schema)
		}
	}
	group := [][]*telemetry.Schema{hosts[r.IntN(len(hosts)):][:1], switches[r.IntN(len(switches)):][:1], hosts, switches, steps}
	k := r.IntN(len(group))
	g.who = []string{"one host's collector", "one switch's collector", "every host's collector", "every switch's collector", "the reports of steps"}[k]
	for _, s := range group[k] {
		g.sources[s.Fingerprint()] = true
	}
	return g
}

func firstTick(records []*telemetry.Record) telemetry.Time {
	for _, r := range records {
		if r.Kind == telemetry.TickRecord {
			return r.Tick.At
		}
	}
	return 0
}

// without returns the records but for the frames that were not collected.
func (g *gap) without(records []*telemetry.Record) (out []*telemetry.Record) {
	for _, r := range records {
		if r.Kind == telemetry.FrameRecord {
			if h, err := r.Frame.Header(); err == nil && g.sources[h.Fingerprint] && h.First >= g.from && h.First < g.to {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// told checks that the engine reports the gap of each affected source: from the
// last sample before it to the first one after it, within a grid. Reports of steps
// have no cadence that would make their absence a gap: a job that works without
// reporting is not called stalled, which the incidents show.
func (g *gap) told(t *testing.T, records []*telemetry.Record, gaps []correlate.Gap) {
	t.Helper()
	want := map[telemetry.Source]correlate.Gap{}
	for _, r := range records {
		if r.Kind == telemetry.SchemaRecord && g.sources[r.Schema.Fingerprint()] && r.Schema.Cadence > 0 {
			before, after := g.edges(t, records, r.Schema.Fingerprint())
			if after != 0 && before != 0 {
				want[r.Schema.Source] = correlate.Gap{Source: r.Schema.Source, From: before, To: after}
			}
		}
	}
	for _, got := range gaps {
		w, ok := want[got.Source]
		if ok && got.From == w.From && got.To >= w.To && got.To.Sub(w.To) < 1e9 {
			delete(want, got.Source)
		}
	}
	for source, w := range want {
		t.Errorf("%s: the gap of %s from %s to %s is not told of", g, source, w.From.Clock(), w.To.Clock())
	}
}

// edges returns the last sample before and the first one after the gap; zero
// where hardly anything was lost.
func (g *gap) edges(t *testing.T, records []*telemetry.Record, f telemetry.Fingerprint) (before, after telemetry.Time) {
	lost := 0
	for _, r := range records {
		h, err := r.Frame.Header()
		switch {
		case r.Kind != telemetry.FrameRecord || err != nil || h.Fingerprint != f:
		case h.First < g.from:
			before = max(before, h.Last)
		case h.First < g.to:
			lost++
		case after == 0 || h.First < after:
			after = h.First
		}
	}
	if lost < 5 {
		return 0, 0
	}
	return before, after
}
