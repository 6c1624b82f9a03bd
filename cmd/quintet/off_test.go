package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTheSiteWasOff starts a service whose log ends long ago, QUINTET_OFF (24h), with
// a recording as its past and its present: that of the tests, or the trace that
// QUINTET_OFF_TRACE names. Nothing of the present may be refused, and the service
// reports that it catches up until it has. How long it takes is logged.
func TestTheSiteWasOff(t *testing.T) {
	off, err := time.ParseDuration(os.Getenv("QUINTET_OFF"))
	if err != nil {
		t.Skip("takes two minutes: QUINTET_OFF=24h")
	}
	s := newSite(t, 95)
	s.within(30 * time.Minute)
	page := "http://" + wiretest.FreeAddress(t)
	s.write("store.yaml", "site: {name: site}\ndata: "+s.path("data")+"\nlisten: \""+strings.TrimPrefix(page, "http://")+"\"\nnats: {listen: \""+s.log+"\"}\n")
	store := s.startStore()
	s.enrolled()
	b := s.connectTo("site", s.log)
	s.plays(s.ctx, b, play.Config{From: telemetry.Duration(24 * time.Hour), Now: func() telemetry.Time { return now().Add(-telemetry.Duration(off)) }})
	b.Close()
	store.kill()

	began := time.Now()
	s.start("serve", "--config", s.path("store.yaml"), "--role", "store,tick,engine,web")
	live, end := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.plays(live, tickless{s.connect(s.log)}, play.Config{Now: now}) }()
	defer func() { end(); <-ended }()
	reported := ""
	s.patiently(25*time.Minute, "the present is judged", func() bool {
		pause(s.ctx, 200*time.Millisecond)
		resp, err := s.client().Get(page + "/-/ready")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return false
		}
		if strings.Contains(string(text), "catching up") {
			reported = string(text)
		}
		return string(text) == "ready\n"
	})
	counts := tallies(t, page)
	t.Logf("off for %s: the present is judged %s after the start; grids: %.0f; snapshots: %.0f; the last that was reported: %q", off, time.Since(began).Round(time.Second),
		counts.all["quintet_engine_grids_total"], counts.all["quintet_replica_snapshots_total"], reported)
	if refused := counts.all[`quintet_engine_frames_total{outcome="future"}`]; refused > 0 || reported == "" {
		t.Errorf("%.0f frames of the present were refused; reported: %q", refused, reported)
	}
}

// plays plays the recording of the test into a log until it or ctx ends.
func (s *site) plays(ctx context.Context, into play.Log, c play.Config) {
	rec, err := replay.Open(cmp.Or(os.Getenv("QUINTET_OFF_TRACE"), "../../testdata/roce/slownic-2"), replay.OpenConfig{})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer rec.Close()
	c.Recording, c.Into, c.Collector, c.Site = rec, into, "recording", "site"
	if err := play.Run(ctx, c); err != nil && ctx.Err() == nil {
		s.t.Error(err)
	}
}

// tickless is a log whose ticks are stated by others.
type tickless struct{ *bus.Bus }

func (l tickless) Append(ctx context.Context, collector string, rs ...*telemetry.Record) error {
	var out []*telemetry.Record
	for _, r := range rs {
		if r.Kind != telemetry.TickRecord {
			out = append(out, r)
		}
	}
	return l.Bus.Append(ctx, collector, out...)
}
