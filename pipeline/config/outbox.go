package config

import "github.com/quintet-dc/quintet/settings"

// Outbox bounds the records that a process keeps while the log is unreachable. 0 is
// the default of package outbox.
type Outbox struct {
	// MemoryBytes bounds those in memory; the default is 4 MiB.
	MemoryBytes settings.Bytes `yaml:"memory_bytes" min:"64KiB" max:"1GiB"`
	// DiskBytes bounds those on the disk; the default is 256 MiB.
	DiskBytes settings.Bytes `yaml:"disk_bytes" min:"1MiB"`
}
