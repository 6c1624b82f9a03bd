package redfish

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "redfish",
		Doc:      "Hosts, power and cooling equipment over Redfish.",
		Advice:   "does the BMC answer, and is its account still valid?",
		Settings: Entry{},
		Mapping:  Document{},
		Open:     kind.Openers(DecodeConfig, New),
		Find:     find,
	}
}
