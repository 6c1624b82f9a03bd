package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/deck"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// keepPlayed is how long the log of a replay keeps its records: as long as it may
// be viewed.
const keepPlayed = 30 * 24 * time.Hour

// serve plays the recording into a log of its own, through the live service, for
// the page to look at, with pause and seek.
func (c *replayCommand) serve(sh *cli.Shell) error {
	scratch, done, err := temporary()
	if err != nil {
		return err
	}
	defer done()
	site, err := c.siteOf(sh)
	if err != nil {
		return err
	}
	speed := 1.0
	switch {
	case c.Speed == 0: // not stated
	case c.Speed.most():
		speed = 0
	default:
		speed = float64(c.Speed)
	}
	d, err := deck.New(deck.Config{Path: c.Recording, Name: filepath.Base(filepath.Clean(c.Recording)), Site: site.Site, Speed: speed})
	if err != nil {
		return err
	}
	door, err := openDoor(c.Listen)
	if err != nil {
		return err
	}
	defer door.Close()
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	parts := startCompanions(ctx, stop)
	parts.start(func(ctx context.Context) error { return c.mark(ctx, sh, d, site) })
	parts.start(door.run)
	err = d.Run(ctx, func(ctx context.Context, n int) error {
		dir := filepath.Join(scratch, strconv.Itoa(n))
		defer os.RemoveAll(dir)
		return c.session(ctx, sh, showing{deck: d, door: door, site: site, dir: dir, session: n})
	})
	stop()
	return errors.Join(err, parts.wait())
}

// showing is what one session is made of.
type showing struct {
	deck *deck.Deck
	door *door
	site telemetry.SiteConfig
	dir  string
	// session counts from 0.
	session int
}

// session is one log, from the recording's beginning on.
func (c *replayCommand) session(ctx context.Context, sh *cli.Shell, p showing) error {
	file := config.Default()
	file.Site, file.Listen, file.Data, file.NATS.Retention = config.SiteOf(p.site), c.Listen, p.dir, keepPlayed
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return err
	}
	s.Roles = pipeline.Roles{pipeline.Engine: true, pipeline.Store: true, pipeline.Web: true}
	ready, begins := make(chan struct{}), telemetry.Time(0)
	s.Deck, s.Listener = p.deck.Handler(p.session), p.door.session(ready)
	s.Play = func(ctx context.Context, log *bus.Bus) error {
		go func() {
			awaitEngine(ctx, log)
			close(ready)
		}()
		return p.deck.Play(ctx, log, begins)
	}
	s.Prepare = func(ctx context.Context, log *bus.Bus) (err error) {
		begins, err = c.seed(ctx, log, &s)
		return err
	}
	onListen := s.Listening
	s.Listening = func(a net.Addr) {
		if p.session == 0 {
			onListen(a)
		}
	}
	return pipeline.Run(ctx, s)
}

// awaitEngine waits until an engine answers, for as long as a user would wait for a
// page: an engine that does not answer by then is shown as not available, as
// everywhere.
func awaitEngine(ctx context.Context, log *bus.Bus) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if _, err := log.Ask(ctx, replica.AskStatus, nil); err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// siteOf is the site configuration in the recording, or the default.
func (c *replayCommand) siteOf(sh *cli.Shell) (telemetry.SiteConfig, error) {
	site := telemetry.DefaultSiteConfig()
	rec, err := replay.Open(c.Recording, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return site, err
	}
	defer rec.Close()
	sh.Doubts(rec.Warnings)
	if name := rec.Site(); name != "" {
		site.Site = name
	}
	warm := rec.Trace != nil && !rec.Trace.Header().Cold // what it is set to is stated again, some time
	found := errors.New("found")
	err = rec.Each(func(_ uint64, r *telemetry.Record) error {
		if r.Kind == telemetry.ConfigRecord && r.Config.Key == telemetry.ConfigSite {
			if parsed, err := telemetry.ParseSiteConfig(r.Config.Content); err == nil {
				site = parsed
				return found
			}
		}
		if r.Kind == telemetry.TickRecord && !warm {
			return found
		}
		return nil
	})
	var cut *trace.CutError
	if err != nil && !errors.Is(err, found) && !errors.As(err, &cut) {
		return site, err
	}
	return site, nil
}

// mark runs the engine over the whole recording, for the marks at which there is
// something to see.
func (c *replayCommand) mark(ctx context.Context, sh *cli.Shell, d *deck.Deck, site telemetry.SiteConfig) error {
	rec, err := replay.Open(c.Recording, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return err
	}
	defer rec.Close()
	engine, err := engineConfig(1)
	if err != nil {
		return err
	}
	engine.Correlate.Site, engine.Correlate.Grid, engine.Correlate.Lateness = site.Site, site.Grid, site.Lateness
	got, err := replay.Run(ctx, rec, replay.RunConfig{Engine: engine})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	d.SetMarks(got.Incidents)
	fmt.Fprintf(sh.Out, "quintet: the recording has %s\n", summary(got.Incidents))
	return nil
}
