package receive

import (
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "receive",
		Doc:      "What other programs push: remote write, OTLP, steps of jobs, events, edges.",
		Advice:   "the sender has stopped: has the job ended without job_ended?",
		Single:   true,
		Settings: Config{},
		Mapping:  mapping.Document{},
		Open:     kind.Opener(kind.Entry[Config]("receive"), newWithin),
	}
}

// newWithin returns the receiver of a configuration whose addresses the guard allows.
func newWithin(c Config, g dial.Guard) (*Receiver, error) { return New(c), c.Within(g) }
