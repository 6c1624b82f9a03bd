package replica

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// flip changes one byte of a stream on the disk, so far behind the last mark in it, or
// the first where last is false.
func (w *world) flip(stream, mark string, last bool, behind int) {
	w.t.Helper()
	found := false
	err := filepath.WalkDir(w.cfg.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".blk") || !strings.Contains(path, stream) || found {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := bytes.Index(b, []byte(mark))
		if last {
			at = bytes.LastIndex(b, []byte(mark))
		}
		if at < 0 {
			return nil
		}
		found = true
		b[at+behind] ^= 0x10
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil || !found {
		w.t.Fatalf("nothing to damage in %s: %v", stream, err)
	}
}

// again restarts the server after f.
func (w *world) again(f func()) {
	w.t.Helper()
	w.bus.Close()
	w.server.Close()
	f()
	w.serve()
	w.bus = w.join(broker.All)
}

// TestRunGoesOnFromTheSnapshotBefore: a block of the disk changes below the newest
// snapshot. The engine goes on from the one before, publishes what it would have
// published, and reports it.
func TestRunGoesOnFromTheSnapshotBefore(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	r.publishes()
	w.feed(0, 3000)
	r.read()
	ctx := within(t, time.Minute)
	w.until("there are two snapshots", func() bool {
		infos, err := w.bus.Snapshots(ctx)
		return err == nil && len(infos) > 1
	})
	infos, err := w.bus.Snapshots(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	w.again(func() { w.flip("snapshots", "QSNAP\r\n", true, 300) })
	next := w.start("b")
	next.publishes()
	w.feed(3000, len(w.rec.log))
	next.read()
	w.same()
	var status Status
	w.ask(AskStatus, "", &status)
	if len(status.Alarms) != 1 || status.Alarms[0].Name != DamagedSnapshot || !strings.Contains(status.Alarms[0].Text, "from the one of tick "+infos[1].Tick.String()) {
		t.Errorf("alarms: %+v", status.Alarms)
	}
	if next.count("quintet_replica_snapshots_unusable_total") != 1 {
		t.Error("it is not counted")
	}
}

// TestRunReadsPastAHole: a block of the disk changes below the log. The engine goes
// on without the entries that are lost, and reports which.
func TestRunReadsPastAHole(t *testing.T) {
	w := newWorld(t)
	w.feed(0, 3000)
	w.again(func() { w.flip("-lab-log", "nic:", true, 1) })
	r := w.start("a")
	r.publishes()
	w.feed(3000, len(w.rec.log))
	r.read()
	var status Status
	w.ask(AskStatus, "", &status)
	if len(status.Alarms) != 1 || status.Alarms[0].Name != LogHole {
		t.Errorf("alarms: %+v", status.Alarms)
	}
	if n := r.count("quintet_replica_log_entries_lost_total"); n == 0 {
		t.Error("it is not counted")
	}
	// The log states the hole itself, once, for every reader; coverage shows it.
	var holes []Gap
	w.until("coverage shows the hole", func() bool {
		var coverage Coverage
		w.ask(AskCoverage, "", &coverage)
		holes = slices.DeleteFunc(coverage.Gaps, func(g Gap) bool { return g.Collector != "quintet" })
		return len(holes) > 0
	})
	if len(holes) != 1 || holes[0].Target != "log" || holes[0].To == nil || *holes[0].To < holes[0].From {
		t.Errorf("coverage: %+v", holes)
	}
	records := 0
	if err := w.bus.Slice(within(t, 20*time.Second), bus.Span{Kinds: []telemetry.RecordKind{telemetry.ConfigRecord}}, func(e bus.Entry) error {
		if e.Record != nil && e.Record.Config.Key == telemetry.ConfigHole {
			records++
		}
		return nil
	}); err != nil || records != 1 {
		t.Errorf("%d records of the hole, %v", records, err)
	}
}
