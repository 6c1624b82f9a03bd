package config

import "go.yaml.in/yaml/v3"

// Outbox bounds the records that a process keeps and the log cannot take. 0 is the
// default of package outbox.
type Outbox struct {
	MemoryBytes int64
	DiskBytes   int64
}

// The least that package outbox works with.
const (
	leastOutboxMemory = 64 << 10
	leastOutboxDisk   = 16 * 64 << 10
)

func (r *reader) outbox(n *yaml.Node, c *Outbox) {
	r.mapping(n, "nats: outbox: ", r.size("memory_bytes", &c.MemoryBytes), r.size("disk_bytes", &c.DiskBytes))
	if c.MemoryBytes != 0 && c.MemoryBytes < leastOutboxMemory || c.MemoryBytes > 1<<30 {
		r.fail(n, "nats: outbox: memory_bytes: want 64KiB to 1GiB")
	}
	if c.DiskBytes != 0 && c.DiskBytes < leastOutboxDisk {
		r.fail(n, "nats: outbox: disk_bytes: want 1MiB at least")
	}
}
