package pipeline

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/standard"
)

// receivers makes the receivers of the configuration.
func (s *service) receivers() ([]notify.Receiver, error) {
	var out []notify.Receiver
	for _, r := range s.c.File.Notify.Receivers {
		one, err := s.receiver(r)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (s *service) receiver(r config.Receiver) (notify.Receiver, error) {
	if r.Count() != 1 {
		return notify.Receiver{}, fmt.Errorf("notify: receivers: %s: want one of %s", r.Name, standard.Names)
	}
	n, attempt, err := standard.Open(&r.Kinds, kind.Environment{Guard: s.c.File.Egress.Guard(), Page: s.c.File.Notify.ExternalURL, Version: s.c.Version})
	if err != nil {
		return notify.Receiver{}, fmt.Errorf("notify: receivers: %s: %w", r.Name, err)
	}
	kinds := []string{explain.KindIncident}
	if r.Risks {
		kinds = append(kinds, explain.KindRisk)
	}
	if r.Alerts {
		kinds = append(kinds, notify.KindAlert)
	}
	return notify.Receiver{Name: r.Name, Notifier: n, Severities: r.Severities, Kinds: kinds, Notes: r.Notes, Corrections: !r.Figures, Timeout: attempt}, nil
}

// routes are the routes of the configuration.
func (s *service) routes() (out []notify.Route) {
	for _, r := range s.c.File.Notify.Routes {
		out = append(out, notify.Route{Match: r.Matchers, Receivers: r.Receivers, Continue: r.Continue})
	}
	return out
}
