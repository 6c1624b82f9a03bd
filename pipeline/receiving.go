package pipeline

import (
	"net/http"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// receiverOf is the receiver that the configuration names, or one with the
// defaults: something can always be pushed.
func receiverOf(specs []collectors.Spec) *receive.Receiver {
	for _, s := range specs {
		if r, ok := s.Collector.(*receive.Receiver); ok {
			return r
		}
	}
	return receive.New(receive.Config{})
}

// ownMetrics answers GET /metrics of a listener for what is pushed.
func (s *service) ownMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if err := exposition.New(s.metrics).Write(w); err != nil {
		s.c.Logger.Debug("metrics not written", "err", err)
	}
}

// pushed are the handlers of what is pushed over HTTP, by path. What Grafana sends
// is signed where the configuration says so.
func (s *service) pushed() map[string]http.HandlerFunc {
	if g := s.c.File.Notify.Grafana; g.SecretFile != "" {
		s.receive.GrafanaSigns(func() (secret, timestamp string, err error) {
			secret, err = post.Secret(g.SecretFile)
			return secret, g.Timestamp, err
		})
	}
	return s.receive.Routes()
}

// receiving are the collectors that are pushed to, and are not among those of
// the configuration.
func (s *service) receiving() []collectors.Spec {
	var out []collectors.Spec
	if !slices.ContainsFunc(s.c.Collectors, func(x collectors.Spec) bool { return x.Collector == collectors.Collector(s.receive) }) {
		out = append(out, collectors.Spec{Name: "receive", Target: s.receive.Target(), Collector: s.receive})
	}
	if h := s.receive.HTTP(http.HandlerFunc(s.ownMetrics)); h != nil {
		out = append(out, collectors.Spec{Name: "receive-http", Target: h.Target(), Collector: h})
	}
	if g := s.receive.GRPC(); g != nil {
		out = append(out, collectors.Spec{Name: "receive-otlp-grpc", Target: g.Target(), Collector: g})
	}
	return out
}
