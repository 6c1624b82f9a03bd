package pipeline

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// receivers makes the receivers of the configuration.
func (s *service) receivers() ([]notify.Receiver, error) {
	var out []notify.Receiver
	for _, r := range s.c.File.Receivers {
		hook, err := webhook.New(webhook.Config{URL: r.URL, SecretFile: r.SecretFile, Headers: r.Headers, Timeout: r.Timeout, Version: s.c.Version})
		if err != nil {
			return nil, fmt.Errorf("notify: receivers: %s: %w", r.Name, err)
		}
		kinds := []string{explain.KindIncident}
		if r.Risks {
			kinds = append(kinds, explain.KindRisk)
		}
		out = append(out, notify.Receiver{Name: r.Name, Notifier: hook, Severities: r.Severities, Kinds: kinds, Timeout: r.Timeout})
	}
	return out, nil
}
