package pipeline

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"slices"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/agent"
	"github.com/quintet-dc/quintet/pipeline/assist"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/child"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/crew"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/raise"
	"github.com/quintet-dc/quintet/pipeline/notify/silence"
	"github.com/quintet-dc/quintet/pipeline/pin"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/pipeline/serve"
	"github.com/quintet-dc/quintet/pipeline/store"
	"github.com/quintet-dc/quintet/pipeline/ticker"
)

// Faults are those that can be injected into a simulated site.
type (
	Faults    = serve.Faults
	FaultKind = serve.FaultKind
	Injection = serve.Injection
)

// Config configures the tasks of a process of the service.
type Config struct {
	File    *config.File
	Roles   Roles
	Process string // its name in subjects and metrics; the host's, usually
	Version string // of the program
	// Engine is the engine of the role; its site, grid and lateness classes are
	// taken from File.
	Engine engine.Config
	// Collectors are what File.Collectors came to; what is pushed over HTTP and
	// the files of the topology are added.
	Collectors []collectors.Spec
	Page       fs.FS
	Runbooks   []fs.FS // folders of signatures, later before earlier
	Demo       string  // states what is played, where it is not a real site
	// Play, if any, states records and ticks in the place of collectors and the
	// ticker. It ends with the recording.
	Play func(ctx context.Context, log *bus.Bus) error
	// Prepare, if any, is called with the log before any other part of this process
	// reads it.
	Prepare func(ctx context.Context, log *bus.Bus) error
	// Deck, if any, controls the played recording (GET and POST /api/v1/replay).
	Deck http.Handler
	// Faults, if any, are those that can be injected into a simulated site (GET and
	// POST /api/v1/demo/faults).
	Faults Faults
	// Rerun runs the engine over a trace in a file, for assistants; nil where that
	// cannot be done.
	Rerun func(ctx context.Context, path string) (*assist.Replayed, error)
	// EngineCommand, if any, returns the command of a process that runs the engine in
	// place of this one. Parent, if any, is the process that started this one so.
	EngineCommand func() *exec.Cmd
	Parent        *child.Parent
	// Listener, if any, takes the place of File.Listen.
	Listener net.Listener
	// Listening is called with the page's address once it can be asked, Enrolled
	// with that of our own server where it listens.
	Listening func(net.Addr)
	// Reload reads the configuration again; nil where there is none to read.
	Reload func(context.Context) error

	Metrics *metrics.Set
	Logger  *slog.Logger
}

// The stages of stopping: collectors, transport, engine, notifiers.
const (
	stating    = agent.Collecting
	concluding = agent.Stages + iota - 1
	notifying
	stages
)

// service is a process at work.
type service struct {
	c       Config
	metrics *metrics.Set
	server  *broker.Server // nil where the log is elsewhere
	bus     *bus.Bus
	crew    *crew.Crew
	agent   *agent.Agent
	history *store.Store // nil where none is kept
}

// Run runs the parts of the process's roles and returns when ctx is done and all
// have stopped, or a part has failed. Accepted facts are sent to the log, and from
// there to answers, before the rest stops.
func Run(ctx context.Context, c Config) error {
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if err := errors.Join(Check(c.File, c.Roles, c.Listener)...); err != nil {
		return err
	}
	s := &service{c: c, metrics: c.Metrics, agent: agent.New(agent.Config{File: c.File, Process: c.Process, Collectors: c.Collectors, Metrics: c.Metrics, Logger: c.Logger})}
	receivers, err := s.receivers()
	if err != nil {
		return err
	}
	switch err := s.openLog(ctx); {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // asked to stop, or to reload, before there was anything to stop
	case err != nil:
		return err
	}
	defer s.close()
	if s.c.Prepare != nil {
		if err := s.c.Prepare(ctx, s.bus); err != nil {
			return err
		}
	}
	s.crew = crew.New(ctx, stages, agent.StopTimeout)
	if err := s.startParts(receivers); err != nil {
		ended, stop := context.WithCancel(ctx)
		stop()
		return errors.Join(err, s.crew.Wait(ended))
	}
	return s.crew.Wait(ctx)
}

// startParts starts the parts of the roles, the notifiers first.
func (s *service) startParts(receivers []notify.Receiver) error {
	r := s.c.Roles
	if s.server != nil {
		s.crew.Start(notifying, "store", s.watchStore)
		s.crew.Start(stating, "grants", s.stateGrants)
		s.crew.Start(notifying, "revocations", s.watchRevoked)
	}
	if err := s.startHistory(); err != nil {
		return err
	}
	if r[Web] {
		if err := s.startWeb(); err != nil {
			return err
		}
	}
	if r[Notify] && len(receivers) > 0 {
		if err := s.startNotify(receivers); err != nil {
			return err
		}
	}
	if r[Engine] {
		if err := s.startEngine(); err != nil {
			return err
		}
	}
	if dir := s.pins(); r[Store] && dir != "" {
		s.crew.Start(notifying, "pin", func(ctx context.Context) error {
			return pin.Run(ctx, pin.Config{Bus: s.bus, Dir: dir, Site: s.c.File.Site.Name, Metrics: s.metrics, Logger: s.part("pin")})
		})
	}
	if r[Collect] {
		if err := s.agent.Start(s.crew, s.bus); err != nil {
			return err
		}
	}
	if r[Tick] && s.c.Play == nil {
		s.crew.Start(stating, "tick", func(ctx context.Context) error {
			site := s.c.File.Site.Config()
			return ticker.Run(ctx, ticker.Config{Log: s.bus, Grid: site.Grid, Lateness: site.Lateness, Metrics: s.metrics, Logger: s.part("tick")})
		})
	}
	if s.c.Play != nil {
		s.crew.Start(stating, "play", func(ctx context.Context) error { return s.c.Play(ctx, s.bus) })
	}
	return nil
}

// alone reports whether no other process can be at this log: the server is our
// own and does not listen.
func (s *service) alone() bool { return s.server != nil && s.c.File.NATS.Listen == "" }

// startNotify starts the notifiers, and what they depend on: the silences, the
// graph of containment, and the watch that alerts are still raised.
func (s *service) startNotify(receivers []notify.Receiver) error {
	log, n := s.part("notify"), s.c.File.Notify
	silences, above := silence.NewBook(s.bus, log), graph.New(s.bus, nil, log)
	s.crew.Start(notifying, "silences", func(ctx context.Context) error { silences.Run(ctx); return nil })
	s.crew.Start(notifying, "graph", func(ctx context.Context) error { above.Run(ctx); return nil })
	s.crew.Start(notifying, "notify", func(ctx context.Context) error {
		return notify.Run(ctx, notify.Config{Bus: s.bus, Incidents: s.bus.Incidents(), Alerts: s.bus.Alerts(), Name: s.c.Process, Receivers: receivers, Alone: s.alone(),
			Routes: s.routes(), Teams: n.Teams, Inhibit: n.Inhibit, Flaps: notify.Flaps{Window: n.Flaps.Window, Start: n.Flaps.Start, Stop: n.Flaps.Stop},
			Silences: silences, Graph: above, Metrics: s.metrics, Logger: log})
	})
	if !slices.ContainsFunc(receivers, func(r notify.Receiver) bool { return slices.Contains(r.Kinds, notify.KindAlert) }) {
		return nil
	}
	watch, err := raise.NewWatch(s.raising())
	if err != nil {
		return err
	}
	s.crew.Start(notifying, "watch of alerts", watch.Run)
	return nil
}

// startWeb starts the API and the page.
func (s *service) startWeb() error {
	curves, err := recorder.New(recorder.Config{Log: s.bus, Site: s.c.File.Site.Config(), Catalogue: s.c.Engine.Correlate.Catalogue, Metrics: s.metrics, Logger: s.part("recorder")})
	if err != nil {
		return err
	}
	c := s.access(s.c.Listener)
	c.Site, c.Teams, c.Demo, c.Bus, c.Incidents, c.Firing = s.c.File.Site.Name, s.c.File.Notify.Teams, s.c.Demo, s.bus, s.bus.Incidents(), s.bus.Alerts()
	c.Curves, c.Page, c.Runbooks, c.Listening, c.Reload, c.Ready, c.Pins = curves, s.c.Page, s.c.Runbooks, s.c.Listening, s.c.Reload, s.ready, s.pins()
	c.Metrics, c.Logger = s.metrics, s.part("web")
	c.Replay, c.Faults, c.Assist, c.Trail = s.c.Deck, s.c.Faults, s.assist, s.bus.Trail()
	c.History = s.historyHandler()
	c.Receivers = func() int { return len(s.c.File.Notify.Receivers) }
	if s.c.Roles[Collect] {
		c.Push = s.agent.Pushed()
	}
	s.crew.Start(notifying, "web", func(ctx context.Context) error { return serve.Run(ctx, c) })
	return nil
}

// part returns the logger of a part.
func (s *service) part(name string) *slog.Logger { return s.c.Logger.With("part", name) }
