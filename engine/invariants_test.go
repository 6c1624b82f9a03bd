package engine_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/correlate/correlatetest"
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/telemetry"
)

// The invariants of correlate/doc.go, on recorded runs: a slow nic, flows on
// one uplink, a slow host; all with clock offsets, jitter, lost scrapes, a
// counter reset and 32-bit wraps.
var recorded = []string{"slownic-2", "ecmp-2", "ctlcompute-3"}

// reference is a recording and what the engine publishes for it as it is.
type reference struct {
	*enginetest.Recording
	*enginetest.Played
}

var references = sync.OnceValues(func() (map[string]reference, error) {
	out := map[string]reference{}
	for _, name := range recorded {
		rec, err := enginetest.Open(bundleDir(name))
		if err != nil {
			return nil, err
		}
		played, err := enginetest.Play(rec.Log, 1)
		if err != nil {
			return nil, err
		}
		out[name] = reference{rec, played}
	}
	return out, nil
})

func bundleDir(name string) string { return filepath.Join("..", "testdata", "roce", name) }

// onEach runs a test on every recording. A recording without an incident would
// prove nothing.
func onEach(t *testing.T, test func(t *testing.T, ref reference)) {
	t.Helper()
	refs, err := references()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(refs[name].Published, `"kind":"incident"`) {
				t.Fatal("the recording as it is gives no incident")
			}
			test(t, refs[name])
		})
	}
}

// same plays a log and wants what the reference published and found.
func (ref reference) same(t *testing.T, log []telemetry.Record, slices int) *enginetest.Played {
	t.Helper()
	got, err := enginetest.Play(log, slices)
	if err != nil {
		t.Fatal(err)
	}
	ref.equal(t, got)
	return got
}

// sameState wants every bit of what the engine knows to be the reference's.
func (ref reference) sameState(t *testing.T, got *enginetest.Played) {
	t.Helper()
	a, err := got.State()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := ref.State(); err != nil || a != b {
		t.Errorf("state %s, want %s (%v)", a, b, err)
	}
}

func (ref reference) equal(t *testing.T, got *enginetest.Played) {
	t.Helper()
	if diff := enginetest.Diff(got.Published, ref.Published); diff != "" {
		t.Errorf("incidents: %s", diff)
	}
	if diff := enginetest.Diff(got.Findings, ref.Findings); diff != "" {
		t.Errorf("findings: %s", diff)
	}
	if got.Runner.Digest() != ref.Runner.Digest() {
		t.Errorf("digest %s, want %s", got.Runner.Digest(), ref.Runner.Digest())
	}
}

func (ref reference) kit(seed uint64) correlatetest.Kit {
	return correlatetest.Kit{Lateness: ref.Lateness, Seed: seed}
}

type transformation = func([]telemetry.Record) ([]telemetry.Record, error)

// holds wants what the reference published from each of the transformed logs.
func (ref reference) holds(t *testing.T, name string, transform transformation) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		log, err := transform(ref.Log)
		if err != nil {
			t.Fatal(err)
		}
		ref.same(t, log, 1)
	})
}

func TestI1OnlyTicksMoveTime(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ref.Log {
			changed, err := r.Apply(uint64(i+1), &ref.Log[i])
			if err != nil {
				t.Fatal(err)
			}
			if ref.Log[i].Kind != telemetry.TickRecord && (len(changed) > 0 || len(r.Output().Findings) > 0) {
				t.Fatalf("record %d is not a tick and gave %d revisions and %d findings", i+1, len(changed), len(r.Output().Findings))
			}
		}
		silent := slices.DeleteFunc(slices.Clone(ref.Log), func(r telemetry.Record) bool { return r.Kind == telemetry.TickRecord })
		played, err := enginetest.Play(silent, 1)
		if err != nil {
			t.Fatal(err)
		}
		if grids := played.Runner.Output().Counts.Grids; grids != 0 || played.Published != "" {
			t.Errorf("without ticks, %d grids were closed and published was %q", grids, played.Published)
		}
	})
}

func TestI2ArrivalOrderBatchingAndRepetitionDoNotMatter(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for seed := range uint64(3) {
			k := ref.kit(seed)
			ref.holds(t, fmt.Sprint("shuffled ", seed), k.Shuffle)
			ref.holds(t, fmt.Sprint("repeated ", seed), k.Repeat)
			ref.holds(t, fmt.Sprint("batched anew ", seed), k.Rebatch)
		}
		k := ref.kit(9)
		ref.holds(t, "all three", chain(k.Rebatch, k.Repeat, k.Shuffle))
	})
}

func chain(all ...transformation) transformation {
	return func(log []telemetry.Record) ([]telemetry.Record, error) {
		var err error
		for _, transform := range all {
			if log, err = transform(log); err != nil {
				return nil, err
			}
		}
		return log, nil
	}
}

func TestI3OutputOrderIsByTimeEntityName(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		findings := 0
		for i := range ref.Log {
			changed, err := r.Apply(uint64(i+1), &ref.Log[i])
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSortedFunc(changed, inOrder) {
				t.Errorf("record %d: revisions out of order: %s", i+1, names(changed))
			}
			found := r.Output().Findings
			findings += len(found)
			if !slices.IsSortedFunc(found, findingOrder) {
				t.Errorf("record %d: findings out of order", i+1)
			}
		}
		if findings == 0 {
			t.Error("no findings: the order of none proves nothing")
		}
	})
}

func inOrder(a, b explain.Incident) int {
	return cmp.Or(cmp.Compare(a.Updated, b.Updated), firstJob(a).Compare(firstJob(b)), cmp.Compare(a.ID, b.ID))
}

func firstJob(in explain.Incident) telemetry.Entity {
	if len(in.Impact.Jobs) > 0 {
		return in.Impact.Jobs[0].Job
	}
	return in.Root.Entity
}

func findingOrder(a, b detect.Finding) int {
	return cmp.Or(cmp.Compare(at(a), at(b)), a.Series.Compare(b.Series), cmp.Compare(a.Shape, b.Shape))
}

func at(f detect.Finding) telemetry.Time { return cmp.Or(f.Ended, f.Onset.Latest) }

func names(list []explain.Incident) string {
	var out []string
	for _, in := range list {
		out = append(out, fmt.Sprintf("%s.%d %s", in.ID, in.Revision, in.Updated))
	}
	return strings.Join(out, ", ")
}

// TestReplaysAreIdentical replays often enough for the random order of maps to
// show, if any of it reached an output (I3).
func TestReplaysAreIdentical(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for range 20 {
			ref.sameState(t, ref.same(t, ref.Log, 1))
		}
	})
}

func TestI4ASeriesIndexIsNotAnIdentity(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for seed := range uint64(3) {
			ref.holds(t, fmt.Sprint("schemas in another order ", seed), ref.kit(seed).PermuteSchemas)
		}
	})
}

// TestI4SnapshotsNameSeries continues a snapshot with a log whose schemas are
// in another order: had the snapshot kept indices, the series would be mixed
// up.
func TestI4SnapshotsNameSeries(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		other, err := ref.kit(5).PermuteSchemas(ref.Log)
		if err != nil {
			t.Fatal(err)
		}
		middle := len(ref.Log) * 2 / 3
		r, before := ref.playTo(t, middle)
		var rest []telemetry.Record
		for _, rec := range other[:middle] {
			if rec.Kind == telemetry.SchemaRecord {
				rest = append(rest, rec)
			}
		}
		played, err := enginetest.Continue(r, append(rest, other[middle:]...))
		if err != nil {
			t.Fatal(err)
		}
		played.Published, played.Findings = before.Published+played.Published, before.Findings+played.Findings
		ref.equal(t, played)
	})
}

// playTo plays the first n records, and restores another runner from there.
func (ref reference) playTo(t *testing.T, n int) (r *engine.Runner, before *enginetest.Played) {
	t.Helper()
	first, err := enginetest.Play(ref.Log[:n], 1)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := first.Runner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	r, err = enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	if position, err := r.Restore(snapshot); err != nil || position != uint64(n) {
		t.Fatalf("restore: position %d, want %d: %v", position, n, err)
	}
	return r, first
}

func TestI5StateIsASnapshotAndTheRecordsSince(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for _, part := range []float64{0, 0.1, 0.3, 0.45, 0.5, 0.55, 0.7, 0.9, 1} {
			n := int(float64(len(ref.Log)) * part)
			t.Run(fmt.Sprint("at record ", n), func(t *testing.T) {
				r, before := ref.playTo(t, n)
				played, err := enginetest.Continue(r, ref.Log[n:])
				if err != nil {
					t.Fatal(err)
				}
				played.Published, played.Findings = before.Published+played.Published, before.Findings+played.Findings
				ref.equal(t, played)
				ref.sameState(t, played)
			})
		}
	})
}

func TestI8TheNumberOfSlicesDoesNotMatter(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for _, n := range []int{2, 4, 7} {
			t.Run(fmt.Sprint(n, " slices"), func(t *testing.T) {
				got := ref.same(t, ref.Log, n)
				ref.sameState(t, got)
			})
		}
	})
}

func TestI9TheCadenceOfTicksDoesNotMatter(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for seed := range uint64(4) {
			ref.holds(t, fmt.Sprint("ticks retimed ", seed), ref.kit(seed).RetimeTicks)
		}
	})
}

// TestTheInvariantsHoldTogether changes everything at once.
func TestTheInvariantsHoldTogether(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		k := ref.kit(11)
		log, err := chain(k.PermuteSchemas, k.Rebatch, k.Shuffle, k.RetimeTicks, k.Repeat)(ref.Log)
		if err != nil {
			t.Fatal(err)
		}
		ref.same(t, log, 4)
	})
}

// TestTheInvariantsHoldOnEveryRun changes everything at once, and cuts in the
// middle, on each of the recorded runs beside the checkout.
func TestTheInvariantsHoldOnEveryRun(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("..", "..", "shared", "traces", "roce", "*", "truth.json"))
	if err != nil || len(dirs) == 0 || testing.Short() {
		t.Skip("no recorded runs beside the checkout, or a short test")
	}
	for i, truth := range dirs {
		dir := filepath.Dir(truth)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			rec, err := enginetest.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			played, err := enginetest.Play(rec.Log, 1)
			if err != nil {
				t.Fatal(err)
			}
			ref := reference{rec, played}
			k := ref.kit(uint64(i))
			log, err := chain(k.PermuteSchemas, k.Rebatch, k.Shuffle, k.RetimeTicks, k.Repeat)(rec.Log)
			if err != nil {
				t.Fatal(err)
			}
			ref.same(t, log, 4)
			n := len(rec.Log) * (30 + 2*(i%20)) / 100
			r, before := ref.playTo(t, n)
			played, err = enginetest.Continue(r, rec.Log[n:])
			if err != nil {
				t.Fatal(err)
			}
			played.Published, played.Findings = before.Published+played.Published, before.Findings+played.Findings
			ref.equal(t, played)
			ref.sameState(t, played)
		})
	}
}

// TestI7TheSameBitsOnOtherMachines builds the replayer for other machines and
// compares what it prints with what this one publishes.
func TestI7TheSameBitsOnOtherMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for other machines take a minute")
	}
	refs, err := references()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		name string
		env  []string
		run  []string // what runs the binary
		can  func() bool
	}{
		{"arm64", []string{"GOARCH=arm64"}, []string{"qemu-aarch64-static"}, func() bool { _, err := exec.LookPath("qemu-aarch64-static"); return err == nil }},
		{"amd64 with FMA", []string{"GOARCH=amd64", "GOAMD64=v3"}, nil, fusedHere},
	} {
		t.Run(m.name, func(t *testing.T) {
			if !m.can() {
				t.Skipf("this machine cannot run %v binaries", m.env)
			}
			binary := filepath.Join(t.TempDir(), "digest")
			build := exec.Command("go", "build", "-o", binary, "./testdata/digest")
			build.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux"), m.env...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			for _, name := range recorded {
				args := append(slices.Clone(m.run), binary, bundleDir(name))
				out, err := exec.Command(args[0], args[1:]...).Output()
				if err != nil {
					t.Fatalf("run: %v", err)
				}
				state, err := refs[name].State()
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("%s%s%s %s %s\n", refs[name].Published, refs[name].Findings, refs[name].Runner.Digest(), state, bundleDir(name))
				if diff := enginetest.Diff(string(out), want); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

// fusedHere reports whether this machine runs GOAMD64=v3 binaries.
func fusedHere() bool {
	flags, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && bytes.Contains(flags, []byte(" fma ")) && bytes.Contains(flags, []byte(" avx2 ")) && bytes.Contains(flags, []byte(" bmi2 "))
}
