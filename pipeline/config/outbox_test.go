package config_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// TestParseBoundsTheOutbox: what is kept while the log is unreachable is bounded by the
// file, and not to less than an outbox works with.
func TestParseBoundsTheOutbox(t *testing.T) {
	file, problems := config.Parse("f", "nats: {outbox: {memory_bytes: 1MiB, disk_bytes: 2GB}}")
	if file == nil || file.NATS.Outbox != (config.Outbox{MemoryBytes: 1 << 20, DiskBytes: 2 << 30}) {
		t.Error(file, problems)
	}
	for text, want := range map[string]string{
		"nats: {outbox: {memory_bytes: 1KiB}}":   "memory_bytes: 1KiB, want 64KiB to 1GiB",
		"nats: {outbox: {memory_bytes: 2GiB}}":   "memory_bytes: 2GiB, want 64KiB",
		"nats: {outbox: {disk_bytes: 512KiB}}":   "disk_bytes: 512KiB, want at least 1MiB",
		"nats: {outbox: {disk_bytes: plenty}}":   "want a size",
		"nats: {outbox: {forget_nothing: true}}": "forget_nothing",
	} {
		if file, problems := config.Parse("f", text); file != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}
