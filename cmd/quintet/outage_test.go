package main

import (
	"cmp"
	"context"
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
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// The promise of an outage (design B4), with real collectors over real protocols:
// while the log is away no counter's increase is lost, nothing grows without
// bound, and every drop is counted by reason.

// outageLength is how long the log is away: what QUINTET_OUTAGE says (make outage
// says 10m). A minute is enough for a first look.
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
// a short outage: a minute's telemetry of the lab's site is near a megabyte.
const (
	outageMemory  = 64 << 10
	outageDisk    = 1 << 20
	withoutMemory = 256 << 10 // where the disk is full: what one instant of everything needs, and some
	fullDisk      = 64 << 20  // the bound; the disk itself has less
)

// TestAnOutageOfTheLog kills the log while collectors of six kinds read a site.
func TestAnOutageOfTheLog(t *testing.T) {
	length := outageLength(t)
	s := newSite(t, 6)
	o := s.newOutage(outageMemory, outageDisk, s.path("host"))
	o.away(length)
	o.judge()
}

// TestAnOutageWithAFullDisk: the disk on which the outbox spills takes a quarter
// of a megabyte and no more.
func TestAnOutageWithAFullDisk(t *testing.T) {
	length := outageLength(t)
	s := newSite(t, 7)
	dir := s.path("host")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	o := s.newOutage(withoutMemory, fullDisk, dir)
	o.away(length)
	o.judge()
	if !strings.Contains(o.collect.said.String(), "no space left") {
		t.Error("nobody was told that the disk is full")
	}
}

// outage is a site, read by a process of collectors, whose log goes away.
type outage struct {
	s              *site
	dir            string // where the collectors keep what the log cannot take
	disk           int64
	collect, store *process
	page           string
	from, to       telemetry.Time
	rss            []float64 // RssAnon in MB, every second of the outage
	spilled        int64     // the most that lay in dir
}

func (s *site) newOutage(memory, disk int64, dir string) *outage {
	s.t.Helper()
	o := &outage{s: s, dir: dir, disk: disk, page: freeAddress(s.t)}
	s.write("store.yaml", "site: {name: lab}\ndata: "+s.path("data")+"\nlisten: \""+o.page+"\"\nnats: {listen: \""+s.log+"\", process: here}\n")
	o.open()
	s.enrolled()
	lab, err := newWiredSite(16, 6, s.path("lab"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.live(lab)
	doc := map[string]any{"site": map[string]any{"name": "lab"}, "data": dir, "topology": map[string]any{"files": []string{lab.plan}},
		"nats": map[string]any{"urls": []string{"tls://" + s.log}, "credentials": s.path("all.creds"), "process": "host",
			"outbox": map[string]any{"memory_bytes": memory, "disk_bytes": disk}}}
	collect := map[string]any{}
	for _, f := range lab.fleets {
		collect[f.kind] = f.Entries()
	}
	doc["collectors"] = collect
	text, err := yaml.Marshal(doc)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("collect.yaml", string(text))
	o.collect = s.start("collect", "--config", s.path("collect.yaml"))
	s.await("every collector is heard", func() bool {
		heard := map[string]bool{}
		for _, r := range o.readings() {
			heard[r.Source.Collector] = true
		}
		return heard["sysfs"] && heard["gnmi"] && heard["redfish"] && heard["scrape"]
	})
	pause(s.t.Context(), 10*time.Second)
	return o
}

// open starts the log, with everything that reads it.
func (o *outage) open() {
	o.store = o.s.start("serve", "--config", o.s.path("store.yaml"), "--role", "store,tick,engine,web", "--log-level", "warn")
}

// live lets a lab's site live until the end of the test.
func (s *site) live(lab *wiredSite) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1+len(lab.fleets))
	runs := []func(context.Context) error{lab.site.Run}
	for _, f := range lab.fleets {
		runs = append(runs, f.Run)
	}
	for _, run := range runs {
		go func() { done <- run(ctx) }()
	}
	s.t.Cleanup(func() {
		stop()
		for range runs {
			if err := <-done; err != nil {
				s.t.Error(err)
			}
		}
	})
}

// away takes the log away for so long, and waits until what was held has come.
func (o *outage) away(length time.Duration) {
	t := o.s.t
	o.store.kill()
	o.from = now()
	for ends := time.Now().Add(length); time.Now().Before(ends); pause(t.Context(), time.Second) {
		rss, err := anonymousOf(o.collect)
		if err != nil {
			t.Fatal(err)
		}
		o.rss = append(o.rss, rss)
		o.spilled = max(o.spilled, size(o.dir))
	}
	o.to = now()
	o.open()
	o.s.await("what was held is in the log, and what came after it", func() bool {
		newest := map[string]telemetry.Time{}
		for _, r := range o.readings() {
			newest[r.Source.Collector] = max(newest[r.Source.Collector], r.At)
		}
		return min(newest["sysfs"], newest["gnmi"], newest["redfish"], newest["scrape"]) > o.to
	})
}

// judge holds what is in the log against the promise.
func (o *outage) judge() {
	t := o.s.t
	t.Helper()
	catalogue := telemetry.DefaultCatalogue()
	counters, late := 0, 0
	for x, all := range o.heard() {
		m, known := catalogue.Lookup(x.Metric)
		if !known || m.Type != telemetry.Counter || all.cadence > time.Duration(o.to-o.from)/4 {
			continue
		}
		counters++
		if gap := o.worst(all); gap != "" {
			if late++; late <= 5 {
				t.Errorf("%s: %s", x, gap)
			}
		}
	}
	if counters < 500 || late > 0 {
		t.Errorf("%d counters, of which %d lost some of their increase", counters, late)
	}
	own := o.own()
	half := len(o.rss) / 2
	early, grown := slices.Max(o.rss[:half]), slices.Max(o.rss[half:])
	t.Logf("%d counters; %s away; RssAnon %.1f MB at first, %.1f MB at most in the first half, %.1f MB in the second; %d KiB spilled; %v",
		counters, time.Duration(o.to-o.from).Round(time.Second), o.rss[0], early, grown, o.spilled>>10, own)
	if grown > early*1.25+8 || grown > 128 {
		t.Errorf("RssAnon grew from %.1f MB to %.1f MB", early, grown)
	}
	if o.spilled > o.disk+o.disk/8 {
		t.Errorf("%d bytes on disk, the bound is %d", o.spilled, o.disk)
	}
	if own["collector_thinned_samples_total"] == 0 {
		t.Errorf("%v: the outage was to make it thin", own)
	}
}

// series is what the log has of a series.
type heardSeries struct {
	cadence  time.Duration
	readings []collectorstest.Reading // in order of time
}

// worst says how a counter's increase was lost; "" if it was not. What counts is
// that the value at the outage's end is there: a counter carries its increase.
func (o *outage) worst(h heardSeries) string {
	slack := telemetry.Time(3*h.cadence + 5*time.Second)
	last, first := telemetry.Time(0), telemetry.Time(0)
	for i, r := range h.readings {
		if i > 0 && r.Float() < h.readings[i-1].Float() {
			b := h.readings[i-1]
			return fmt.Sprintf("falls from %v at %.3f to %v at %.3f of %v", b.Float(), o.after(b.At), r.Float(), o.after(r.At), r.Source)
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

// heard reads the log back: the samples of every series.
func (o *outage) heard() map[telemetry.Series]heardSeries {
	ear := o.listen()
	cadence := map[telemetry.Source]time.Duration{}
	for _, s := range ear.Schemas {
		cadence[s.Source] = s.Cadence
	}
	out := map[telemetry.Series]heardSeries{}
	for x, all := range ear.Series {
		all = slices.DeleteFunc(all, func(r collectorstest.Reading) bool { return r.State != telemetry.Present })
		slices.SortStableFunc(all, func(a, b collectorstest.Reading) int { return cmp.Compare(a.At, b.At) })
		if len(all) > 0 {
			out[x] = heardSeries{cadence[all[0].Source], all}
		}
	}
	return out
}

func (o *outage) listen() *collectorstest.Ear {
	o.s.t.Helper()
	ear := collectorstest.Listen(o.s.t)
	b := o.s.connectTo("lab", o.s.log)
	defer b.Close()
	if err := b.Slice(o.s.t.Context(), bus.Span{}, func(e bus.Entry) error {
		if e.Record.Kind != telemetry.TickRecord && e.Record.Kind != telemetry.ConfigRecord {
			ear.Emit(e.Record)
		}
		return nil
	}); err != nil {
		o.s.t.Fatal(err)
	}
	return ear
}

// readings are the latest of every series.
func (o *outage) readings() []collectorstest.Reading {
	var out []collectorstest.Reading
	for _, all := range o.listen().Series {
		out = append(out, all[len(all)-1])
	}
	return out
}

// own is what the outbox says of itself, last.
func (o *outage) own() map[telemetry.MetricName]uint64 {
	out := map[telemetry.MetricName]uint64{}
	for x, all := range o.listen().Series {
		if all[0].Source.Collector == "outbox" {
			out[x.Metric] = all[len(all)-1].Word
		}
	}
	return out
}

// size is how much lies in a folder.
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
