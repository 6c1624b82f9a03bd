package pipeline

import (
	"context"
	"io"
	"net"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/agent"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/child"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/replica"
)

// startEngine starts a replica, here or in a process of its own, and states what
// its site is set to.
func (s *service) startEngine() error {
	if s.c.Parent == nil { // else that does it
		s.crew.Start(stating, "site", s.stateSite)
	}
	if s.c.EngineCommand != nil {
		return s.startEngineProcess()
	}
	c := s.c.Engine
	site := s.c.File.Site.Config()
	c.Correlate.Site, c.Correlate.Grid, c.Correlate.Lateness = site.Site, site.Grid, site.Lateness
	r := replica.Config{Bus: s.bus, Engine: c, Name: s.c.Process, Metrics: s.metrics, Logger: s.part("engine")}
	if s.c.Parent != nil {
		r.Ended = s.c.Parent.Hello.Ended
	}
	s.crew.Start(concluding, "engine", func(ctx context.Context) error { return replica.Run(ctx, r) })
	return nil
}

// startEngineProcess starts the process of the engine. Where the log is in this
// process, it gets connections to it, as a user that may do what an engine does.
func (s *service) startEngineProcess() error {
	c := child.Config{Name: "engine", Command: s.c.EngineCommand, StopTimeout: agent.StopTimeout,
		Restarts: s.metrics.GetOrCreateCounter("quintet_engine_process_restarts_total"), Logger: s.part("engine")}
	if s.server != nil {
		log, err := s.server.Connection(broker.Engine)
		if err != nil {
			return err
		}
		c.Credentials = log.Credentials
		c.Connect = func() (net.Conn, error) { return log.InProcess.InProcessConn() }
	}
	supervisor := child.NewSupervisor(c)
	s.metrics.RegisterMetricsWriter(supervisor.WriteMetrics)
	s.crew.Start(concluding, "engine", supervisor.Run)
	return nil
}

// WriteEngineMetrics writes the metrics of a process of the engine's own for the page
// of its parent.
func WriteEngineMetrics(w io.Writer, page *exposition.Page) error {
	return page.WritePart(w, "engine", func(name string) bool {
		return strings.HasPrefix(name, "quintet_replica_") || strings.HasPrefix(name, "quintet_engine_")
	})
}
