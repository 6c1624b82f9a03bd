package sysfs

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/collectors/kind"
)

// find looks for RDMA devices of this host.
func find(_ context.Context, where kind.Search) []kind.Found {
	root := filepath.Join(where.Root, DefaultPath)
	dirs, err := deviceDirs(disk{root})
	if err != nil {
		return nil
	}
	names := make([]string, len(dirs))
	for i, d := range dirs {
		names[i] = path.Base(d)
	}
	entry := map[string]any{}
	if root != DefaultPath {
		entry["path"] = root
	}
	return []kind.Found{{What: fmt.Sprintf("RDMA devices of this host: %s", strings.Join(names, ", ")), Entry: entry}}
}
