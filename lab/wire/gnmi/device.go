package gnmi

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// device is one switch: a gNMI server.
type device struct {
	gpb.UnimplementedGNMIServer

	entity      telemetry.Entity
	board       *board.Board
	dialect     string
	speaks      dialect
	subtrees    bool
	ports       []socket
	neighbours  map[telemetry.Entity]neighbour
	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	address     string

	once  sync.Once
	grown []leaf
	redis map[string][]table

	mu        sync.Mutex
	listener  net.Listener
	server    *grpc.Server
	stopped   chan struct{}
	unplugged map[telemetry.Entity]bool
	dark      bool // the site states that the switch is down
}

// darkAfter is how old the readings of a switch are once it is down.
const darkAfter = telemetry.Duration(3 * time.Second)

// live ends the switch when the site's is down, and starts it when that is back.
func (s *device) live() error {
	var newest telemetry.Time
	for i := range s.ports {
		if r, ok := s.board.Read(s.ports[i].entity, "port_up"); ok {
			newest = max(newest, r.At)
		}
	}
	down := newest > 0 && s.board.Now().Sub(newest) > darkAfter
	s.mu.Lock()
	was := s.dark
	s.dark = down
	s.mu.Unlock()
	switch {
	case down && !was:
		s.Stop()
	case was && !down:
		return s.Start()
	}
	return nil
}

// away states that a port has been taken away.
func (s *device) away(e telemetry.Entity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unplugged[e]
}

// Start has the switch answer, at the address that it had before.
func (s *device) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return nil
	}
	if s.listener == nil {
		l, err := net.Listen("tcp", s.address)
		if err != nil {
			return err
		}
		s.listener = l
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{GetCertificate: s.certificate, MinVersion: tls.VersionTLS12})))
	gpb.RegisterGNMIServer(server, s)
	stopped := make(chan struct{})
	listener := s.listener
	go func() {
		defer close(stopped)
		_ = server.Serve(listener) // it fails only as Stop has closed it
	}()
	s.server, s.stopped = server, stopped
	return nil
}

// Stop ends the switch as a crash does.
func (s *device) Stop() {
	s.mu.Lock()
	server, stopped, l := s.server, s.stopped, s.listener
	s.server, s.listener = nil, nil
	s.mu.Unlock()
	if server != nil {
		server.Stop()
		<-stopped
	} else if l != nil {
		_ = l.Close() // nothing was ever accepted
	}
}

// Leave asks every client to go (GOAWAY) and stops once they have, or after
// timeout.
func (s *device) Leave(timeout time.Duration) {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	if server == nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		server.GracefulStop()
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
	s.Stop()
	<-gone
}

// Capabilities returns the encodings.
func (s *device) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{SupportedEncodings: s.speaks.encodings(), GNMIVersion: "0.10.0",
		SupportedModels: []*gpb.ModelData{{Name: "openconfig-interfaces", Organization: "OpenConfig working group", Version: "3.8.0"}}}, nil
}

// Set is refused: switches of a lab are read.
func (s *device) Set(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error) {
	return nil, status.Error(codes.PermissionDenied, "read only")
}

// Get answers paths once.
func (s *device) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	if !s.speaks.gets() {
		return nil, status.Error(codes.Unimplemented, "Get is not supported")
	}
	if err := s.encodes(r.GetEncoding()); err != nil {
		return nil, err
	}
	out := &gpb.GetResponse{}
	for _, p := range r.GetPath() {
		ls, err := s.speaks.leaves(s, r.GetPrefix(), p)
		if err != nil {
			return nil, err
		}
		c := cut{enc: r.GetEncoding(), target: r.GetPrefix().GetTarget(), subtrees: true, now: time.Now()}
		for i := range ls {
			if v, at, ok := ls[i].read(); ok {
				c.add(&ls[i], v, at)
			}
		}
		out.Notification = append(out.Notification, c.done()...)
	}
	return out, nil
}

func (s *device) encodes(e gpb.Encoding) error {
	for _, x := range s.speaks.encodings() {
		if x == e {
			return nil
		}
	}
	return status.Errorf(codes.Unimplemented, "encoding %s is not supported", e)
}
