package scrape

import (
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "scrape",
		Doc:      "Pages in Prometheus's format, such as those of dcgm-exporter.",
		Advice:   "does the exporter answer at its address? curl it from where quintet runs",
		Settings: Config{},
		Mapping:  mapping.Document{},
		Open:     kind.Opener(kind.Entry[Config]("scrape"), New),
		Find:     find,
	}
}
