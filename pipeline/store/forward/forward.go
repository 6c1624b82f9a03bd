package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// drain is how long pending samples may take to be sent when the process ends.
const drain = 5 * time.Second

// Target is one receiver. Every secret is in a file, which is read again for
// each request.
type Target struct {
	Name string // in metrics; made from the rest if empty
	URL  string
	// BasicAuth or Authorization are the credentials of the writer.
	BasicAuth     dial.BasicAuth
	Authorization dial.Authorization
	TLS           dial.TLS
	Headers       map[string]string
	// Version is the protocol's: 1 (all receivers support it) or 2.
	Version int
}

// Validate returns an error if t is invalid.
func (t *Target) Validate() error {
	_, err := t.config()
	return err
}

// config returns the configuration of Prometheus' queues.
func (t *Target) config() (*config.RemoteWriteConfig, error) {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("url: %q: want http or https and a host", t.URL)
	case u.User != nil:
		return nil, errors.New("url: user not supported: use basic_auth")
	case t.Version < 0 || t.Version > 2:
		return nil, fmt.Errorf("version: %d: want 1 or 2", t.Version)
	}
	c := config.DefaultRemoteWriteConfig
	c.URL, c.Name, c.Headers = &httpconfig.URL{URL: u}, t.Name, t.Headers
	c.MetadataConfig.Send = false // it would come of scraping
	if t.Version == 2 {
		c.ProtobufMessage = remoteapi.WriteV2MessageType
	}
	h := &c.HTTPClientConfig
	if b := t.BasicAuth; b.Any() {
		h.BasicAuth = &httpconfig.BasicAuth{Username: b.Username, UsernameFile: b.UsernameFile, PasswordFile: b.PasswordFile}
	}
	if a := t.Authorization; a.CredentialsFile != "" {
		h.Authorization = &httpconfig.Authorization{Type: cmp.Or(a.Type, "Bearer"), CredentialsFile: a.CredentialsFile}
	}
	h.TLSConfig = httpconfig.TLSConfig{CAFile: t.TLS.CA, CertFile: t.TLS.Cert, KeyFile: t.TLS.Key, ServerName: t.TLS.ServerName, InsecureSkipVerify: t.TLS.Unverified}
	h.FollowRedirects = false // a password is for whom it was given
	return &c, errors.Join(t.BasicAuth.Validate(), t.TLS.Validate(), h.Validate())
}

// Config lists what is sent where.
type Config struct {
	Dir      string // of the database
	DB       *tsdb.DB
	Targets  []Target
	Labels   map[string]string // put on everything that is sent: which site it comes from
	Registry *prometheus.Registry
	Logger   *slog.Logger
}

// Run sends the samples written from now on until ctx is done.
func Run(ctx context.Context, c Config) error {
	conf := &config.Config{GlobalConfig: config.DefaultGlobalConfig}
	conf.GlobalConfig.ExternalLabels = labels.FromMap(c.Labels)
	for _, t := range c.Targets {
		rc, err := t.config()
		if err != nil {
			return fmt.Errorf("remote write: %s: %w", t.URL, err)
		}
		conf.RemoteWriteConfigs = append(conf.RemoteWriteConfigs, rc)
	}
	s := remote.NewStorage(c.Logger, c.Registry, c.DB.StartTime, c.Dir, drain, nobody{}, false)
	if err := s.ApplyConfig(conf); err != nil {
		return errors.Join(fmt.Errorf("remote write: %w", err), s.Close())
	}
	c.DB.SetWriteNotified(s)
	<-ctx.Done()
	return s.Close()
}

// nobody is a scrape manager that scrapes nothing.
type nobody struct{}

// Get implements remote.ReadyScrapeManager.
func (nobody) Get() (*scrape.Manager, error) { return nil, errors.New("nothing is scraped") }
