package gnmi

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "gnmi",
		Doc:      "Switches and other devices that stream telemetry over gNMI.",
		Advice:   "is the switch up, its gNMI server enabled, the certificate valid? (quintet_collectors_* in /metrics count its errors by reason)",
		Settings: Config{},
		Mapping:  Document{},
		Open:     kind.Opener(kind.Entry[Config]("gnmi"), New),
	}
}
