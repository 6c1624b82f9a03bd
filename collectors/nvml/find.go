package nvml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/collectors/kind"
)

// find looks for GPUs that NVIDIA's driver has.
func find(_ context.Context, where kind.Search) []kind.Found {
	gpus, err := os.ReadDir(filepath.Join(where.Root, "proc/driver/nvidia/gpus"))
	if err != nil || len(gpus) == 0 {
		return nil
	}
	f := kind.Found{What: fmt.Sprintf("NVIDIA GPUs of this host: %d", len(gpus)), Entry: map[string]any{}}
	lib := driver()
	if _, err := lib.open(); errors.Is(err, ErrNotBuilt) {
		f.Lacks = "this program is built without NVIDIA's library: run dcgm-exporter and read that, or build with the tag nvml"
	} else if err == nil {
		lib.close()
	}
	return []kind.Found{f}
}
