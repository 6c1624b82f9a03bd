package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// The promise of an outage, with real collectors over real protocols:
// while the log is away no counter's increase is lost, nothing grows without
// bound, every drop is counted by reason, and what is missing is a blind spot
// with its interval.

// outageLength is how long the log is away: QUINTET_OUTAGE (make outage sets 10m).
// A minute is enough for a first look.
func outageLength(t *testing.T) time.Duration {
	t.Helper()
	if os.Getenv("QUINTET_OUTAGE") == "" {
		t.Skip("takes ten minutes: make outage")
	}
	length, err := time.ParseDuration(os.Getenv("QUINTET_OUTAGE"))
	if err != nil {
		t.Fatal(err)
	}
	return length
}

// The bounds of the outbox are small enough that it must spill and thin, even in
// a short outage: a minute's telemetry of the lab's site is near a megabyte, and
// what it states of itself at the start an eighth of one.
const (
	outageMemory = 256 << 10
	outageDisk   = 1 << 20
	fullDisk     = 64 << 20 // the bound; the disk itself has less
)

// TestAnOutageOfTheLog kills the log while collectors of six kinds read a site.
func TestAnOutageOfTheLog(t *testing.T) {
	length := outageLength(t)
	s := newSite(t, 6)
	s.within(3*length + 10*time.Minute)
	o := s.newOutage(outageMemory, outageDisk, s.path("host"))
	o.away(func() bool { return o.lasts() >= length })
	o.judge()
}

// TestAnOutageWithAFullDisk: the disk on which the outbox spills takes a quarter
// of a megabyte and no more.
func TestAnOutageWithAFullDisk(t *testing.T) {
	length := outageLength(t)
	s := newSite(t, 7)
	s.within(3*length + 10*time.Minute)
	dir := s.path("host")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	o := s.newOutage(outageMemory, fullDisk, dir)
	o.away(func() bool { return o.lasts() >= length })
	o.judge()
	if !strings.Contains(o.collect.said.String(), "no space left") {
		t.Error("nobody was told that the disk is full")
	}
}

// TestAnOutageInSmall is the same in little time: no disk at all, and the log is
// away for no longer than it takes until memory has to be thinned.
func TestAnOutageInSmall(t *testing.T) {
	s := newSite(t, 8)
	dir := s.path("host")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outbox"), nil, 0o600); err != nil { // in the folder's place
		t.Fatal(err)
	}
	o := s.newOutage(outageMemory, fullDisk, dir)
	o.away(func() bool { return strings.Contains(o.collect.said.String(), "no longer fits") })
	o.judge()
}

// outage is a site, read by a process of collectors, whose log goes away.
type outage struct {
	s              *site
	dir            string // where the collectors keep what the log cannot take
	disk           int64
	collect, store *process
	page           string
	ear            *collectorstest.Ear // what the log has, up to a position
	position       uint64
	from, to       telemetry.Time
	rss            []float64 // RssAnon in MB, every second of the outage
	spilled        int64     // the most that lay in dir
}

func (s *site) newOutage(memory, disk int64, dir string) *outage {
	s.t.Helper()
	o := &outage{s: s, dir: dir, disk: disk, page: wiretest.FreeAddress(s.t), ear: collectorstest.Listen(s.t)}
	s.write("store.yaml", "site: {name: lab}\ndata: "+s.path("data")+"\nlisten: \""+o.page+"\"\nnats: {listen: \""+s.log+"\", process: here}\n")
	o.open()
	s.enrolled()
	lab, err := newWiredSite(16, 6, onSlurm, s.path("lab"))
	if err != nil {
		s.t.Fatal(err)
	}
	alive(s.t, lab)
	doc := map[string]any{"site": map[string]any{"name": "lab"}, "data": dir, "topology": map[string]any{"files": []string{lab.plan}},
		"nats": map[string]any{"urls": []string{"tls://" + s.log}, "credentials_file": s.path("all.creds"), "process": "host",
			"outbox": map[string]any{"memory_bytes": memory, "disk_bytes": disk}}}
	doc["collectors"] = lab.entries()
	text, err := yaml.Marshal(doc)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("collect.yaml", string(text))
	o.collect = s.start("collect", "--config", s.path("collect.yaml"))
	o.await("every collector is heard for five seconds", func() bool { return o.heardFor(0) >= 5*time.Second })
	return o
}

// heardFor is for how long all four of the site's fast collectors have been
// received since a time: the last of them to report decides.
func (o *outage) heardFor(since telemetry.Time) time.Duration {
	first, newest := map[string]telemetry.Time{}, map[string]telemetry.Time{}
	for _, all := range o.listen().Series {
		c := all[0].Source.Collector
		for _, r := range all {
			if r.At > since && (first[c] == 0 || r.At < first[c]) {
				first[c] = r.At
			}
		}
		newest[c] = max(newest[c], all[len(all)-1].At)
	}
	least := telemetry.Duration(1 << 62)
	for _, c := range []string{"sysfs", "gnmi", "redfish", "scrape"} {
		if first[c] == 0 {
			return -1
		}
		least = min(least, newest[c].Sub(first[c]))
	}
	return least
}

// await waits for a condition on the log or the page: ticks make up for an outage
// ten times as fast as it went.
func (o *outage) await(what string, so func() bool) {
	o.s.t.Helper()
	o.s.patiently(time.Minute+2*time.Duration(o.to-o.from), what, func() bool {
		done := so()
		if !done {
			pause(o.s.ctx, 450*time.Millisecond) // it is read back whole
		}
		return done
	})
}

// open starts the log, with everything that reads it.
func (o *outage) open() {
	o.store = o.s.start("serve", "--config", o.s.path("store.yaml"), "--role", "store,tick,engine,web", "--log-level", "warn")
}

// lasts is for how long the log has been away.
func (o *outage) lasts() time.Duration { return time.Duration(now() - o.from) }

// away takes the log away until it is enough, and waits until what was held has
// come and the engine has read it.
func (o *outage) away(enough func() bool) {
	t := o.s.t
	t.Helper()
	o.store.kill()
	o.from = now()
	for !enough() {
		rss, err := anonymousOf(o.collect)
		if err != nil {
			t.Fatal(err)
		}
		o.rss = append(o.rss, rss)
		o.spilled = max(o.spilled, size(o.dir))
		if pause(o.s.ctx, time.Second); o.s.ctx.Err() != nil {
			t.Fatalf("after %s there is still no reason for the log to come back", o.lasts().Round(time.Second))
		}
	}
	o.to = now()
	o.open()
	o.await("what was held is in the log, and what came after it", func() bool { return o.heardFor(o.to) >= 0 })
	o.await("the outbox says what it removed", func() bool {
		all := o.listen().Series[telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Collector, Name: "host"}, Metric: "collector_thinned_samples_total"}]
		return len(all) > 0 && all[len(all)-1].At > o.to
	})
	o.await("the engine has read it, and hears the hosts", func() bool {
		var c struct{ Sources []heardSource }
		o.s.get(o.page, "coverage", &c)
		hosts := 0
		for _, x := range c.Sources {
			if x.Collector == "sysfs" && !x.Silent && x.Latest > o.to.Add(3*telemetry.Duration(time.Second)).String() {
				hosts++
			}
		}
		return hosts >= 2
	})
}

// judge holds what is in the log against the promise.
func (o *outage) judge() {
	t := o.s.t
	t.Helper()
	counters, late := o.counters()
	if counters < 500 || late > 0 {
		t.Errorf("%d counters, of which %d lost some of their increase", counters, late)
	}
	own := o.own()
	gaps := o.blind()
	half := len(o.rss) / 2
	early, grown := slices.Max(o.rss[:max(half, 1)]), slices.Max(o.rss[half:])
	t.Logf("%d counters, %d lost some of their increase; %s away; RssAnon %.1f MB before, %.1f MB at most in the first half, %.1f MB in the second; %d KiB spilled; %v; %s",
		counters, late, time.Duration(o.to-o.from).Round(time.Second), o.rss[0], early, grown, o.spilled>>10, own, gaps)
	if grown > early*1.25+8 || grown > 128 {
		t.Errorf("RssAnon grew from %.1f MB to %.1f MB", early, grown)
	}
	if o.spilled > o.disk+o.disk/8 {
		t.Errorf("%d bytes on disk, the bound is %d", o.spilled, o.disk)
	}
	if own["collector_thinned_samples_total"] == 0 {
		t.Errorf("%v: the outage was to make it thin", own)
	}
	for name, n := range own {
		if lost := strings.HasPrefix(string(name), "collector_lost_") || strings.HasPrefix(string(name), "collector_dropped_"); lost && n > 0 {
			t.Errorf("%s is %d: nothing stands for what was lost", name, n)
		}
	}
}

// counters compares every counter with the promise, and returns how many there are
// and how many break it.
func (o *outage) counters() (counters, late int) {
	catalogue := telemetry.DefaultCatalogue()
	for x, all := range o.heard() {
		m, known := catalogue.Lookup(x.series.Metric)
		if !known || m.Type != telemetry.Counter || all.cadence > time.Duration(o.to-o.from)/4 {
			continue
		}
		counters++
		if gap := o.worst(all); gap != "" {
			if late++; late <= 5 {
				o.s.t.Errorf("%s of %s: %s", x.series, x.source, gap)
			}
		}
	}
	return counters, late
}

// blindness is what the page reports of sources without data.
type blindness struct {
	gaps, sources int // intervals, and how many sources have one
	from, to      telemetry.Time
}

func (b blindness) String() string {
	if b.gaps == 0 {
		return "no source was blind"
	}
	return fmt.Sprintf("%d intervals of %d sources from %s to %s are blind", b.gaps, b.sources, b.from, b.to)
}

// blindGrid is the engine's: an interval ends in the grid of the samples that
// end it.
const blindGrid = telemetry.Duration(time.Second)

// blind holds the intervals that the page calls blind against the log: each
// begins at a sample of its source, and there is none until it ends; and where
// the hosts' counters have a hole in the log, the page has an interval.
func (o *outage) blind() (b blindness) {
	t := o.s.t
	t.Helper()
	var cov struct {
		Gaps []struct {
			Collector, Target, Part string
			From                    telemetry.Time
			To                      *telemetry.Time
		}
	}
	o.s.get(o.page, "coverage", &cov)
	told, instants := map[telemetry.Source][]telemetry.Time{}, o.instants()
	oldest := o.to
	for _, g := range cov.Gaps {
		oldest = min(oldest, g.From)
		source := telemetry.Source{Collector: g.Collector, Target: g.Target, Part: g.Part}
		if g.To == nil || g.From < o.from.Add(-10*blindGrid) || g.From > o.to {
			continue // not of the outage, or it goes on
		}
		b.gaps++
		b.from, b.to = min(cmp.Or(b.from, g.From), g.From), max(b.to, *g.To)
		told[source] = append(told[source], g.From)
		all := instants[source]
		i, found := slices.BinarySearch(all, g.From)
		if !found || i+1 == len(all) || all[i+1] < g.To.Add(-blindGrid) || all[i+1] > g.To.Add(blindGrid) {
			t.Errorf("%s is told to be blind from %s to %s: in the log its samples are at %v", source, g.From, *g.To, all[max(0, i-1):min(len(all), i+3)])
		}
	}
	b.sources = len(told)
	for source, all := range instants {
		if source.Collector != "sysfs" || source.Part != "mlx5" {
			continue
		}
		for i, at := range all[:len(all)-1] {
			if hole := all[i+1].Sub(at); hole > 10*blindGrid && at >= max(oldest, o.from) && at < o.to && !slices.Contains(told[source], at) {
				t.Errorf("%s has no sample for %s from %s, and that is not told", source, hole, at)
			}
		}
	}
	return b
}

// instants are the times at which the log has a sample of a source, rising.
func (o *outage) instants() map[telemetry.Source][]telemetry.Time {
	out := map[telemetry.Source][]telemetry.Time{}
	for _, all := range o.listen().Series {
		for _, r := range all {
			out[r.Source] = append(out[r.Source], r.At)
		}
	}
	for source, all := range out {
		slices.Sort(all)
		out[source] = slices.Compact(all)
	}
	return out
}

// telling is a series as one source reports it. Other sources may report it, too (a
// controller and an exporter the energy of a GPU), read at other times and dated by
// other clocks; a counter belongs to one source.
type telling struct {
	series telemetry.Series
	source telemetry.Source
}

// heardSeries is what the log has of one.
type heardSeries struct {
	cadence  time.Duration
	readings []collectorstest.Reading // in order of time
}

// worst describes how a counter's increase was lost; "" if it was not. What counts
// is that the value at the outage's end is there: a counter carries its increase.
func (o *outage) worst(h heardSeries) string {
	slack := telemetry.Time(3*h.cadence + 5*time.Second)
	last, first := telemetry.Time(0), telemetry.Time(0)
	for i, r := range h.readings {
		if i > 0 && r.Float() < h.readings[i-1].Float() {
			b := h.readings[i-1]
			return fmt.Sprintf("falls from %v at %.3f to %v at %.3f", b.Float(), o.after(b.At), r.Float(), o.after(r.At))
		}
		if r.At < o.from {
			first = r.At
		}
		if r.At <= o.to {
			last = r.At
		}
	}
	if first > 0 && last < o.to-slack {
		return fmt.Sprintf("the last value of the outage is %s before its end", time.Duration(o.to-last))
	}
	return ""
}

// after is a time in seconds after the log went away.
func (o *outage) after(at telemetry.Time) float64 { return time.Duration(at - o.from).Seconds() }

// heard reads the log back: the samples of every series, by source.
func (o *outage) heard() map[telling]heardSeries {
	ear := o.listen()
	cadence := map[telemetry.Source]time.Duration{}
	for _, s := range ear.Schemas {
		cadence[s.Source] = s.Cadence
	}
	out := map[telling]heardSeries{}
	for x, all := range ear.Series {
		for _, r := range all {
			if r.State == telemetry.Present {
				h := out[telling{x, r.Source}]
				out[telling{x, r.Source}] = heardSeries{cadence[r.Source], append(h.readings, r)}
			}
		}
	}
	for _, h := range out {
		slices.SortStableFunc(h.readings, func(a, b collectorstest.Reading) int { return cmp.Compare(a.At, b.At) })
	}
	return out
}

// listen receives the records that were added to the log since the last call.
func (o *outage) listen() *collectorstest.Ear {
	o.s.t.Helper()
	b := o.s.connectTo("lab", o.s.log)
	defer b.Close()
	if err := b.Slice(o.s.ctx, bus.Span{Kinds: []telemetry.RecordKind{telemetry.SchemaRecord, telemetry.FrameRecord}}, func(e bus.Entry) error {
		if e.Position > o.position {
			o.ear.Emit(e.Record)
		}
		o.position = max(o.position, e.Position)
		return nil
	}); err != nil {
		o.s.t.Fatal(err)
	}
	return o.ear
}

// own is the last report of the outbox about itself.
func (o *outage) own() map[telemetry.MetricName]uint64 {
	out := map[telemetry.MetricName]uint64{}
	for x, all := range o.listen().Series {
		if all[0].Source.Collector == "outbox" {
			out[x.Metric] = all[len(all)-1].Word
		}
	}
	return out
}

// size is the size of a folder's files.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone by now
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
