package config

import (
	"errors"
	"path"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/settings"
)

// Store configures the history; zero fields have the defaults of package store.
type Store struct {
	// Off keeps no history.
	Off bool `yaml:"enabled" was:"keep" invert:"true"`
	// Interval is the time between two samples of a series.
	Interval time.Duration `yaml:"interval" was:"cadence" default:"10s" min:"1s" max:"1m"`
	// Retention is how long samples are kept.
	Retention time.Duration `yaml:"retention" was:"retain" default:"15d" max:"100y"`
	// RetentionBytes bounds the history on the disk; the default is what the disk has
	// room for.
	RetentionBytes settings.Bytes `yaml:"retention_bytes" was:"retain_bytes"`
	// Metrics limits what is kept.
	Metrics StoreMetrics `yaml:"metrics"`
	// RuleFiles are files of Prometheus rules, evaluated in addition to those of the program.
	RuleFiles []string `yaml:"rule_files" was:"rules" example:"[/etc/quintet/rules.yml]"`
	// Unraised evaluates the rules, but raises no alerts.
	Unraised bool `yaml:"alerts" invert:"true"`
	// RemoteWrite are receivers of the samples.
	RemoteWrite []RemoteWrite `yaml:"remote_write"`
	// Labels are added to every series that is sent to them.
	Labels map[string]string `yaml:"external_labels" was:"labels" example:"{cluster: a}"`
}

// StoreMetrics limits the metrics that are kept.
type StoreMetrics struct {
	// Drop are metrics that are not kept, as names or patterns.
	Drop []string `yaml:"drop" example:"['rdma_*']"`
	// MaxSeries bounds the series.
	MaxSeries int `yaml:"max_series" default:"1048576"`
}

// Validate reports invalid patterns.
func (m StoreMetrics) Validate() error {
	for _, p := range m.Drop {
		if _, err := path.Match(p, ""); err != nil {
			return settings.Errorf("drop", "%.80q: %w", p, err)
		}
	}
	return nil
}

// RemoteWrite is a receiver of the history, in the protocol of Prometheus.
type RemoteWrite struct {
	// Name names it in metrics; the default is made from the rest.
	Name string `yaml:"name"`
	// URL is where samples are sent.
	URL string `yaml:"url" format:"url" example:"https://mimir.example/api/v1/push"`
	// BasicAuth is the user; its files are read for every request.
	BasicAuth dial.BasicAuth `yaml:"basic_auth" was:"username=username,password_file=password_file"`
	// Authorization takes the place of basic_auth.
	Authorization dial.Authorization `yaml:"authorization" was:"bearer_file=credentials_file"`
	// TLS is for https.
	TLS dial.TLS `yaml:"tls"`
	// Headers are sent with every request.
	Headers map[string]string `yaml:"headers"`
	// Version is that of the protocol: 1, which every receiver supports, or 2.
	Version int `yaml:"version" default:"1" max:"2"`
}

// Validate reports what is missing, and what excludes something else.
func (w RemoteWrite) Validate() error {
	switch {
	case w.URL == "":
		return errors.New("url: required")
	case w.BasicAuth.Any() && w.Authorization.CredentialsFile != "":
		return errors.New("basic_auth and authorization: mutually exclusive")
	}
	return nil
}
