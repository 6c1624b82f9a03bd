package config_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/store"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestDefault: the defaults of the tags are those of the packages that they configure.
func TestDefault(t *testing.T) {
	f := config.Default()
	if got, want := f.Site.Config(), telemetry.DefaultSiteConfig(); got != want {
		t.Errorf("site %+v, want %+v", got, want)
	}
	if config.SiteOf(f.Site.Config()) != f.Site {
		t.Errorf("%+v is not its own site", f.Site)
	}
	if s := f.Store; s.Interval != store.DefaultCadence || s.Retention != store.DefaultRetain || s.Metrics.MaxSeries != store.DefaultMaxSeries || s.Off || s.Unraised {
		t.Errorf("store %+v", s)
	}
	if !f.NATS.Embedded || f.NATS.Replicas != 1 || !f.Notify.Inhibit || f.Notify.Flaps.Start != 10 || f.Listen == "" || f.Data == "" {
		t.Errorf("%+v", f)
	}
	if empty, problems := config.Parse("", ""); empty == nil || len(problems) > 0 || empty.Site != f.Site || empty.Store.Interval != f.Store.Interval {
		t.Errorf("an empty file: %+v, %v", empty, problems)
	}
}

// TestParseChoosesTheServers: urls take the place of our own server.
func TestParseChoosesTheServers(t *testing.T) {
	f, problems := config.Parse("f", "nats: {embedded: true, urls: ['tls://log:4222']}")
	if f == nil || f.NATS.Embedded {
		t.Errorf("%+v, %v", f, problems)
	}
	if f, problems = config.Parse("f", "nats: {embedded: false}"); f != nil || !strings.Contains(problems[0].Error(), "f:1:7: nats: embedded is false: urls: required") {
		t.Errorf("%v", problems)
	}
}

// TestParseKeepsTheKeyJobs: files that have it are accepted, with a warning.
func TestParseKeepsTheKeyJobs(t *testing.T) {
	f, problems := config.Parse("q.yaml", "jobs:\n  retention: 15d\n")
	if f == nil || len(problems) != 1 || !problems[0].Doubt || problems[0].Text != "jobs: nothing in this release reads it" {
		t.Errorf("%v, %q", f, problems)
	}
	if f, problems = config.Parse("q.yaml", "site: {name: x}\n"); f == nil || len(problems) > 0 {
		t.Errorf("without it: %v, %q", f, problems)
	}
}
