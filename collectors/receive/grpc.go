package receive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // senders pack with it
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// Bounds of OTLP over gRPC. A request's memory is taken while it comes, so that
// not only those that are read are counted, but all that are under way.
const (
	grpcRequests    = 16               // at once; times MaxBody is the most memory that they take
	grpcOfAddress   = 8                // of those from one address, so that it cannot keep the others out
	grpcTimeout     = 30 * time.Second // for one request, however slowly it comes
	grpcStreams     = 8                // of a connection
	grpcHeader      = 16 << 10
	grpcIdle        = 5 * time.Minute
	grpcKeepalive   = time.Minute
	grpcHandshake   = 10 * time.Second
	grpcStopTimeout = 5 * time.Second
)

// GRPC is the part of a Receiver that takes OTLP over gRPC. What it takes, the
// receiver emits.
type GRPC struct {
	receiver *Receiver
	cfg      Listener
	bound    chan net.Addr
	timeout  time.Duration // for one request

	mu    sync.Mutex
	under int                // requests under way
	by    map[netip.Addr]int // likewise, by address
}

// GRPC returns the part that takes OTLP over gRPC; nil where none is configured.
func (r *Receiver) GRPC() *GRPC {
	if r.cfg.OTLP.Listen == "" {
		return nil
	}
	return &GRPC{receiver: r, cfg: r.cfg.OTLP, bound: make(chan net.Addr, 1), timeout: grpcTimeout, by: map[netip.Addr]int{}}
}

// Target is where it listens.
func (g *GRPC) Target() string { return g.cfg.Listen }

// Run listens until ctx is done. It implements collectors.Collector.
func (g *GRPC) Run(ctx context.Context, sink collectors.Sink) error {
	if err := g.cfg.Validate(); err != nil {
		return fmt.Errorf("receive: otlp_grpc: %w", err)
	}
	l, err := dial.Listen(ctx, g.cfg.Listen, func() { g.receiver.refused(collectors.OverLimit) })
	if err != nil {
		return fmt.Errorf("receive: otlp_grpc: %w", err)
	}
	options, err := g.options()
	if err != nil {
		return errors.Join(fmt.Errorf("receive: otlp_grpc: %w", err), l.Close())
	}
	server := grpc.NewServer(options...)
	pmetricotlp.RegisterGRPCServer(server, &exports{receiver: g.receiver})
	select {
	case g.bound <- l.Addr():
	default: // nobody asked where it listened before
	}
	sink.Swept(collectors.Sweep{})
	ended := context.AfterFunc(ctx, func() { end(server) })
	err = server.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	ended()
	return err
}

// end lets requests under way come to their end, for a while.
func end(server *grpc.Server) {
	late := time.AfterFunc(grpcStopTimeout, server.Stop)
	server.GracefulStop()
	late.Stop()
}

func (g *GRPC) options() ([]grpc.ServerOption, error) {
	out := []grpc.ServerOption{
		grpc.InTapHandle(g.admit),
		grpc.ForceServerCodecV2(weighingCodec{encoding.GetCodecV2("proto")}),
		grpc.MaxRecvMsgSize(int(g.receiver.cfg.MaxBody)),
		grpc.MaxConcurrentStreams(grpcStreams),
		grpc.MaxHeaderListSize(grpcHeader),
		grpc.ConnectionTimeout(grpcHandshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: grpcIdle, Time: grpcKeepalive}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if g.cfg.TLS.Cert != "" {
		c, err := g.cfg.TLS.Server()
		if err != nil {
			return nil, err
		}
		out = append(out, grpc.Creds(credentials.NewTLS(c)))
	}
	return out, nil
}

// admit lets a request in before anything of its body is read, or does not.
func (g *GRPC) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	switch err := g.cfg.admits(info.Header.Get("authorization")); {
	case errors.Is(err, errToken):
		return nil, status.Error(codes.Unauthenticated, err.Error())
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	from := addressOf(ctx)
	if !g.enter(from) {
		g.receiver.refused(collectors.OverLimit)
		return nil, status.Error(codes.Unavailable, errBusy.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	context.AfterFunc(ctx, func() { // it is done when the request is
		cancel()
		g.leave(from)
	})
	return ctx, nil
}

// addressOf is where a request comes from.
func addressOf(ctx context.Context) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	from, _ := netip.ParseAddrPort(p.Addr.String())
	return from.Addr().Unmap()
}

// enter takes a place among the requests under way, of which one address has a part.
func (g *GRPC) enter(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.under >= grpcRequests || g.by[from] >= grpcOfAddress {
		return false
	}
	g.under++
	g.by[from]++
	return true
}

func (g *GRPC) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
	if g.by[from]--; g.by[from] == 0 {
		delete(g.by, from)
	}
}

// exports is the service of OTLP (the OpenTelemetry protocol specification).
type exports struct {
	pmetricotlp.UnimplementedGRPCServer
	receiver *Receiver
}

// Export takes a request.
func (e *exports) Export(_ context.Context, m pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	r := e.receiver
	began := r.cfg.Now()
	a := pmetricotlp.NewExportResponse()
	got, err := r.emitSeries(began, r.otlp, &otlp{m.Metrics(), r.cfg.Mapper}, nil)
	if err != nil {
		return a, status.Error(codeOf(err), err.Error())
	}
	if n, why := rejected(got.dropped); n > 0 {
		a.PartialSuccess().SetRejectedDataPoints(n)
		a.PartialSuccess().SetErrorMessage(why)
	}
	return a, nil
}

// codeOf is gRPC's word for a refusal. A sender tries Unavailable again.
func codeOf(err error) codes.Code {
	switch faultOf(err).status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return codes.Unavailable
	case http.StatusRequestEntityTooLarge:
		return codes.ResourceExhausted
	}
	return codes.InvalidArgument
}

// refused counts a request that was not let in.
func (r *Receiver) refused(why collectors.Reason) {
	r.running.RLock()
	defer r.running.RUnlock()
	if r.sink != nil {
		r.sink.Swept(collectors.Sweep{Dropped: map[collectors.Reason]int{why: 1}})
	}
}
