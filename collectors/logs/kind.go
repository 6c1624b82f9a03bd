package logs

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "logs",
		Doc:      "Kernel and syslog messages that mean a fault, such as XIDs.",
		Advice:   "does quintet collect still run on the host, and can it reach the bus?",
		Settings: Config{},
		Mapping:  Document{},
		Open:     kind.Opener(DecodeConfig, New),
		Find:     find,
	}
}
