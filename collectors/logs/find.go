package logs

import (
	"context"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/collectors/kind"
)

// find looks for the kernel's messages, and where they may not be read for a log that
// has them.
func find(_ context.Context, where kind.Search) []kind.Found {
	device := filepath.Join(where.Root, kernelDevice)
	if readable(device) {
		entry := map[string]any{}
		if device != kernelDevice {
			entry["kernel"] = device
		}
		return []kind.Found{{What: "kernel messages of this host: " + device, Entry: entry}}
	}
	for _, name := range []string{"var/log/kern.log", "var/log/syslog", "var/log/messages"} {
		if path := filepath.Join(where.Root, name); readable(path) {
			return []kind.Found{{What: "log of this host: " + path, Entry: map[string]any{"files": []string{path}}}}
		}
	}
	return nil
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was read
	return true
}
