package fabric

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/quintet-dc/quintet/collectors/kind"
)

// discover looks for devices that reach the manager of an InfiniBand subnet.
func discover(_ context.Context, where kind.Search) []kind.Found {
	devices, err := filepath.Glob(filepath.Join(where.Root, "dev/infiniband/umad*"))
	if err != nil || len(devices) == 0 {
		return nil
	}
	return []kind.Found{{What: fmt.Sprintf("ports of this host in InfiniBand subnets: %d", len(devices)), Entry: map[string]any{},
		Lacks: "a decision: this collector uses the network that it watches, so configure it on one host of a subnet only (needs infiniband-diags), and prefer UFM or NVOS over gNMI"}}
}
