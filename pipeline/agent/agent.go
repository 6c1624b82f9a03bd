package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/crew"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/outbox"
)

// The stages of a crew in which the parts of an agent stop.
const (
	Collecting = iota // collectors
	Carrying          // the outbox
	Stages            // how many there are
)

// Config configures an agent.
type Config struct {
	File    *config.File
	Process string // its name in subjects and metrics
	// Collectors are what File.Collectors came to. Receivers of pushed data and the
	// files of the topology are added.
	Collectors []collectors.Spec
	Metrics    *metrics.Set
	Logger     *slog.Logger
}

// Agent is the collectors of a process.
type Agent struct {
	c       Config
	receive *receive.Receiver
}

// New returns an agent that is not started.
func New(c Config) *Agent { return &Agent{c: c, receive: receiverOf(c.Collectors)} }

// receiverOf returns the receiver that the configuration names, or one with the
// defaults: data can always be pushed.
func receiverOf(specs []collectors.Spec) *receive.Receiver {
	for _, s := range specs {
		if r, ok := s.Collector.(*receive.Receiver); ok {
			return r
		}
	}
	return receive.New(receive.Config{})
}

// Start starts the collectors and the outbox for their records.
func (a *Agent) Start(on *crew.Crew, log *bus.Bus) error {
	specs := append(a.receiving(), a.c.Collectors...)
	if files := a.c.File.Topology.Files; len(files) > 0 {
		specs = append(specs, collectors.Spec{Name: "topology", Target: fmt.Sprint(files), Collector: receive.NewFiles(files, nil)})
	}
	limits := a.c.File.NATS.Outbox
	box, err := outbox.New(outbox.Config{Collector: a.c.Process, Bus: log, Dir: a.spillDir(), MemoryBytes: int(limits.MemoryBytes), SpillBytes: int64(limits.DiskBytes),
		Metrics: a.c.Metrics, Logger: a.part("outbox")})
	if err != nil {
		return err
	}
	on.Start(Carrying, "outbox", func(ctx context.Context) error { return errors.Join(box.Run(ctx), box.Close()) })
	on.Start(Collecting, "collect", func(ctx context.Context) error {
		return collectors.Supervise(ctx, collectors.Config{Specs: specs, Emitter: box, Self: a.c.Process, Metrics: a.c.Metrics, Logger: a.part("collect")})
	})
	return nil
}

// receiving returns the receivers of pushed data that are not among the
// collectors of the configuration.
func (a *Agent) receiving() []collectors.Spec {
	var out []collectors.Spec
	if !slices.ContainsFunc(a.c.Collectors, func(x collectors.Spec) bool { return x.Collector == collectors.Collector(a.receive) }) {
		out = append(out, collectors.Spec{Name: "receive", Target: a.receive.Target(), Collector: a.receive})
	}
	if h := a.receive.HTTP(http.HandlerFunc(a.metrics)); h != nil {
		out = append(out, collectors.Spec{Name: "receive-http", Target: h.Target(), Collector: h})
	}
	if g := a.receive.GRPC(); g != nil {
		out = append(out, collectors.Spec{Name: "receive-otlp-grpc", Target: g.Target(), Collector: g})
	}
	return out
}

// Pushed returns the handlers of data pushed over HTTP, by path. Alerts of Grafana
// must be signed if the configuration has a secret for them.
func (a *Agent) Pushed() map[string]http.HandlerFunc {
	if g := a.c.File.Notify.Grafana; g.SecretFile != "" {
		a.receive.GrafanaSigns(func() (secret, timestamp string, err error) {
			secret, err = dial.Secret(g.SecretFile)
			return strings.TrimSpace(secret), g.Timestamp, err
		})
	}
	return a.receive.Routes()
}

// metrics answers GET /metrics of a listener for pushed data.
func (a *Agent) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if err := exposition.New(a.c.Metrics).Write(w); err != nil {
		a.c.Logger.Debug("metrics not written", "err", err)
	}
}

// spillDir is the directory of the outbox for records that the log cannot take; ""
// is none.
func (a *Agent) spillDir() string {
	if a.c.File.Data == "" {
		return ""
	}
	return filepath.Join(a.c.File.Data, "outbox")
}

func (a *Agent) part(name string) *slog.Logger { return a.c.Logger.With("part", name) }
