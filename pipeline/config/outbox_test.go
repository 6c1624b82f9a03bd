package config_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// TestOutbox: what may be held while the log is away is bounded by the file, and
// not to less than an outbox works with.
func TestOutbox(t *testing.T) {
	file, problems := config.Parse("f", "nats: {outbox: {memory_bytes: 1MiB, disk_bytes: 2GiB}}")
	if file == nil || file.NATS.Outbox != (config.Outbox{MemoryBytes: 1 << 20, DiskBytes: 2 << 30}) {
		t.Error(file, problems)
	}
	for text, want := range map[string]string{
		"nats: {outbox: {memory_bytes: 1KiB}}":   "memory_bytes: want 64KiB",
		"nats: {outbox: {memory_bytes: 2GiB}}":   "memory_bytes: want 64KiB",
		"nats: {outbox: {disk_bytes: 512KiB}}":   "disk_bytes: want 1MiB",
		"nats: {outbox: {disk_bytes: plenty}}":   "want a number of bytes",
		"nats: {outbox: {forget_nothing: true}}": "forget_nothing",
	} {
		if file, problems := config.Parse("f", text); file != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}
