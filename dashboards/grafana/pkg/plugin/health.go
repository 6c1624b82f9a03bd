package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
)

// CheckHealth reports Quintet's version, or why it is not usable.
func (d *Datasource) CheckHealth(ctx context.Context, _ *backend.CheckHealthRequest) (*backend.CheckHealthResult, error) {
	s, err := d.quint.Status(ctx)
	if err != nil {
		return &backend.CheckHealthResult{Status: backend.HealthStatusError, Message: err.Error()}, nil
	}
	details, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &backend.CheckHealthResult{Status: backend.HealthStatusOk, JSONDetails: details}
	site := s.Site
	if site == "" {
		site = "without a name"
	}
	var alarms []string
	for _, a := range s.Alarms {
		alarms = append(alarms, a.Name+" ("+a.Text+")")
	}
	if s.Engine == "" {
		out.Status = backend.HealthStatusError
		out.Message = fmt.Sprintf("Quintet of site %s answers, but no engine does: %s", site, strings.Join(alarms, "; "))
		return out, nil
	}
	out.Message = fmt.Sprintf("Quintet %s of site %s, rules %s, %d sources of which %d are silent", s.Engine, site, s.Rules, s.Sources, s.Silent)
	if s.Tick != nil {
		out.Message += fmt.Sprintf(", as of %s", s.Tick.UTC().Format(time.RFC3339))
	}
	if len(alarms) > 0 {
		out.Message += "; alarms: " + strings.Join(alarms, "; ")
	}
	return out, nil
}
