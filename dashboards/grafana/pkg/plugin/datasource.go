package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
	"github.com/grafana/grafana-plugin-sdk-go/backend/instancemgmt"
	"github.com/grafana/grafana-plugin-sdk-go/backend/resource/httpadapter"

	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/api"
)

// settings are the keys of jsonData, in addition to those that the SDK reads. The
// SDK's own texts are here for their type alone: it fails on numbers in their
// place.
type settings struct {
	PageURL string `json:"pageUrl"`

	Access        string `json:"access"`
	URL           string `json:"url"`
	BasicAuthUser string `json:"basicAuthUser"`
	ServerName    string `json:"serverName"`
}

// Datasource is one configured data source. Grafana creates a new one whenever its
// settings change.
type Datasource struct {
	backend.CallResourceHandler
	uid    string
	page   string // of Quintet's own page
	quint  *api.Client
	now    func() time.Time
	pace   pace
	places *places
	closed context.Context
	close  context.CancelFunc
}

// New makes a data source from its settings.
func New(ctx context.Context, s backend.DataSourceInstanceSettings) (instancemgmt.Instance, error) {
	var own settings
	if len(s.JSONData) > 0 {
		if err := json.Unmarshal(s.JSONData, &own); err != nil {
			return nil, fmt.Errorf("the data source's settings: %w", err)
		}
	}
	opts, err := s.HTTPClientOptions(ctx)
	if err != nil {
		return nil, fmt.Errorf("the data source's settings: %w", err)
	}
	ask, err := httpclient.New(opts)
	if err != nil {
		return nil, fmt.Errorf("the data source's settings: %w", err)
	}
	// A stream does not end: it has no time-out, but it is taken for dead when it
	// becomes stale.
	patient := *opts.Timeouts
	patient.Timeout = 0
	opts.Timeouts = &patient
	follow, err := httpclient.New(opts)
	if err != nil {
		return nil, fmt.Errorf("the data source's settings: %w", err)
	}
	client, err := api.New(s.URL, ask, follow)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(own.PageURL, client)
	if err != nil {
		return nil, err
	}
	d := &Datasource{uid: s.UID, page: page, quint: client, now: time.Now, pace: usualPace(), places: newPlaces()}
	d.closed, d.close = context.WithCancel(context.Background())
	d.CallResourceHandler = httpadapter.New(d.resources())
	return d, nil
}

// pageOf returns the address of Quintet's page for browsers: that of Grafana's
// server, unless the settings give another.
func pageOf(set string, client *api.Client) (string, error) {
	if set = strings.TrimSuffix(strings.TrimSpace(set), "/"); set == "" {
		return strings.TrimSuffix(client.Page(), "/"), nil
	}
	u, err := url.Parse(set)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("the address of Quintet's page: %q: want http://host or https://host", set)
	}
	return set, nil
}

// Dispose ends the streams; Grafana begins them again on the next instance.
func (d *Datasource) Dispose() { d.close() }
