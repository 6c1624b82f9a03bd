package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/crew"
)

// StopTimeout is how long each stage of a process may take to stop.
const StopTimeout = 15 * time.Second

// Run connects to the log that the configuration names, collects until ctx is done,
// and delivers the collected records before it returns.
func Run(ctx context.Context, c Config) error {
	if c.File.NATS.Embedded {
		return errors.New("collect: address of the log required: --nats URL and --credentials FILE, or nats.urls and nats.credentials_file in the configuration (or --once --print to see what would be sent)")
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	log, err := connect(ctx, c)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // stopped before there was anything to stop
	case err != nil:
		return err
	}
	defer log.Close()
	parts := crew.New(ctx, Stages, StopTimeout)
	if err := New(c).Start(parts, log); err != nil {
		ended, stop := context.WithCancel(ctx)
		stop()
		return errors.Join(err, parts.Wait(ended))
	}
	return parts.Wait(ctx)
}

// connect connects to the log.
func connect(ctx context.Context, c Config) (*bus.Bus, error) {
	to := BusConfig(c.File, c.Process)
	to.Metrics, to.Logger = c.Metrics, c.Logger.With("part", "bus")
	var err error
	if to.Credentials, err = Credentials(c.File.NATS); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	return bus.Connect(ctx, to)
}

// BusConfig returns how a process connects to the log of a configuration, but for
// credentials, metrics and the logger.
func BusConfig(file *config.File, process string) bus.Config {
	n := &file.NATS
	return bus.Config{Site: file.Site.Name, Name: process, Servers: n.URLs, Grid: file.Site.Grid, Retain: n.Retention, RetainBytes: int64(n.RetentionBytes), Copies: n.Replicas}
}

// Credentials reads the credentials file of a configuration and, after it, the
// certificate of the servers' authority where that is a file of its own.
func Credentials(n config.NATS) ([]byte, error) {
	var out []byte
	for _, path := range []string{n.CredentialsFile, n.TLS.CA} {
		if path == "" {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}
