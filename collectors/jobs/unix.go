package jobs

import (
	"context"
	"net"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// dialUnix dials the socket at a path, whatever it is asked for.
func dialUnix(g dial.Guard, path string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return g.DialContext(ctx, "unix", path) }
}
