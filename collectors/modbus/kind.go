package modbus

import (
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     sourceName,
		Doc:      "Registers of power shelves, PDUs, CDUs and air handlers over Modbus/TCP.",
		Advice:   "does the device or its gateway answer on its port, and does it allow another connection? many take one or two",
		Settings: Config{},
		Mapping:  mapping.Document{},
		Open:     kind.Opener(DecodeConfig, New),
	}
}
