package pipeline

import (
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/receive"
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

// receiving are the collectors that are pushed to, and are not among those of
// the configuration.
func (s *service) receiving() []collectors.Spec {
	var out []collectors.Spec
	if !slices.ContainsFunc(s.c.Collectors, func(x collectors.Spec) bool { return x.Collector == collectors.Collector(s.receive) }) {
		out = append(out, collectors.Spec{Name: "receive", Target: s.receive.Target(), Collector: s.receive})
	}
	if g := s.receive.GRPC(); g != nil {
		out = append(out, collectors.Spec{Name: "receive-otlp-grpc", Target: g.Target(), Collector: g})
	}
	return out
}
