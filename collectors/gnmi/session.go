package gnmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of a session.
const (
	mostKeepalive = 5 * time.Minute
	// mostMessage is the longest message, streamWindow what a target may have sent of
	// one subscription that was not read yet. gRPC would let the window grow with the
	// delay of the reader, which is longest on a machine that has too much to do.
	mostMessage  = 8 << 20
	streamWindow = 512 << 10
)

// errQuiet means that a target no longer sends data.
var errQuiet = errors.New("the target has stopped to send")

// errRenamed means that ports have other names than series were reported under:
// everything has to be reported again.
var errRenamed = errors.New("ports have new names")

// errNoGroup means that a target has none of the groups of the profile.
var errNoGroup = errors.New("the target refuses every subscription of the profile")

// device is one target through all its sessions.
type device struct {
	target  Target
	cfg     *Config
	guard   dial.Guard
	slots   chan struct{} // to be acquired while dialling
	log     *slog.Logger
	profile *Profile
	subs    []*subscription
	alive   time.Duration // the keepalive that the target bears
	pace    pace

	mu       sync.Mutex // guards what follows
	reader   *reader
	up       bool
	err      error
	received time.Time
	second   time.Time // that the bytes were counted in
	bytes    int
	whole    []byte // the message that is being read
	samples  bool   // something is sampled: silence means something
}

// keep maintains a session with the target until ctx is done.
func (d *device) keep(ctx context.Context) {
	wait := d.pace.first
	for {
		began := time.Now()
		err := d.session(ctx)
		if ctx.Err() != nil {
			return
		}
		d.ended(err)
		switch {
		case refusal(err):
			wait = min(max(wait*2, d.pace.refused), d.pace.never)
		case time.Since(began) > d.pace.stable:
			wait = d.pace.first
		case d.synced():
			wait = min(wait*2, d.pace.brief)
		default:
			wait = min(wait*2, d.pace.most)
		}
		d.log.Debug("gnmi session ended", "target", d.target.Name, "err", err, "again_within", wait)
		if !collectors.Sleep(ctx, wait/2+rand.N(wait/2)) {
			return
		}
	}
}

// synced reports whether the initial data of the last session was received
// completely.
func (d *device) synced() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.subs {
		if s.synced {
			return true
		}
	}
	return false
}

// refusal reports whether an error makes an early retry useless.
func refusal(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument, codes.ResourceExhausted:
		return true
	}
	var refused *dial.RefusedError
	return errors.Is(err, errNoGroup) || errors.As(err, &refused)
}

// ended records that there is no session, and that nothing is known any more.
func (d *device) ended(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.up {
		d.reader.lost(telemetry.Time(time.Now().UnixNano()))
	}
	d.up, d.err = false, err
	d.reader.drop(collectors.Unreadable)
	if strings.Contains(fmt.Sprint(err), "too_many_pings") {
		d.alive = min(d.alive*2, mostKeepalive)
	}
}

// connect prepares a connection. It is dialled by the first call.
func (d *device) connect() (*grpc.ClientConn, error) {
	secure := insecure.NewCredentials()
	if !d.cfg.Plaintext {
		c, err := d.cfg.TLS.Config()
		if err != nil {
			return nil, err
		}
		secure = credentials.NewTLS(c)
	}
	return grpc.NewClient("passthrough:///"+d.target.Address,
		grpc.WithTransportCredentials(secure),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return d.guard.DialContext(ctx, "tcp", address)
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: d.alive, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage)),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(streamWindow),
		grpc.WithUserAgent("quintet"),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
}

// login returns a context with the metadata that is sent with every call.
func (d *device) login(ctx context.Context) (context.Context, error) {
	if !d.cfg.BasicAuth.Any() {
		return ctx, nil
	}
	name, password, err := d.cfg.BasicAuth.Read()
	if err != nil {
		return nil, err
	}
	return metadata.AppendToOutgoingContext(ctx, "username", name, "password", password), nil
}

// session dials the target, subscribes and reads until something ends.
func (d *device) session(ctx context.Context) error {
	d.resetSync()
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	release := sync.OnceFunc(func() { <-d.slots })
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, err := d.login(ctx)
	if err != nil {
		return err
	}
	conn, err := d.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	asked, done := context.WithTimeout(ctx, d.pace.answers)
	enc, err := d.profile.encoding(asked, gpb.NewGNMIClient(conn))
	done()
	if err != nil {
		return err
	}
	release()
	l := &line{d: d, conn: conn, enc: enc, cancel: cancel, due: make(chan struct{}, 1)}
	d.begin()
	return l.run(ctx)
}

// begin records that the target answers.
func (d *device) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up, d.err, d.received, d.samples = true, nil, time.Now(), false
}

// resetSync forgets how far the last session got.
func (d *device) resetSync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.subs {
		s.synced = false
	}
}

// line is one session.
type line struct {
	d      *device
	conn   *grpc.ClientConn
	enc    gpb.Encoding
	cancel context.CancelCauseFunc
	due    chan struct{} // a frame has been opened
}

// run subscribes to what names things, then to all else, and reads.
func (l *line) run(ctx context.Context) error {
	var streams sync.WaitGroup
	streams.Go(func() { l.beat(ctx) })
	defer streams.Wait()
	defer l.cancel(nil)
	var open sync.WaitGroup
	var granted int
	for _, first := range [...]bool{true, false} {
		for _, s := range l.d.subs {
			if s.First != first || time.Now().Before(s.until) {
				continue
			}
			granted++
			synced := make(chan struct{})
			once := sync.OnceFunc(func() { close(synced) })
			open.Go(func() {
				defer once()
				if err := l.follow(ctx, s, once); err != nil {
					l.cancel(err)
				}
			})
			if !first {
				continue
			}
			timer := time.NewTimer(l.d.pace.answers)
			select {
			case <-synced:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
	}
	open.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if granted == 0 {
		return errNoGroup
	}
	for _, s := range l.d.subs {
		if !time.Now().Before(s.until) {
			return io.EOF // some group ended without an error
		}
	}
	return errNoGroup
}

// follow reads one group until its stream ends; onSync is called once all initial
// data was received. If the target refuses the group, nil is returned and the
// others go on.
func (l *line) follow(ctx context.Context, s *subscription, onSync func()) error {
	for {
		err := l.stream(ctx, s, onSync)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		refused, again := s.refused(err, time.Now())
		if !refused {
			return err
		}
		l.d.log.Info("gnmi group refused", "target", l.d.target.Name, "group", s.Name, "err", err, "again", again)
		if !again {
			l.d.mu.Lock()
			l.d.reader.drop(collectors.Unsupported)
			l.d.mu.Unlock()
			return nil
		}
	}
}

// stream reads one RPC.
func (l *line) stream(ctx context.Context, s *subscription, onSync func()) error {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	st, err := l.conn.NewStream(ctx, desc, gpb.GNMI_Subscribe_FullMethodName, grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return err
	}
	if err := st.SendMsg(s.request(l.d.cfg.Every, l.enc)); err != nil && err != io.EOF {
		return err // for io.EOF, RecvMsg returns the reason
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	var m message
	for {
		if err := st.RecvMsg(&m); err != nil {
			if err == io.EOF {
				return errors.New("the target ended the subscription")
			}
			return err
		}
		synced, over, err := l.d.take(&m, s)
		select {
		case l.due <- struct{}{}:
		default:
		}
		if err != nil {
			return err
		}
		if synced {
			onSync()
		}
		if over > 0 && !collectors.Sleep(ctx, over) {
			return ctx.Err()
		}
	}
}

// take reads a message. A damaged one is counted; the stream continues. Of a target
// that has sent too much in this second the message is dropped, and over is how long
// nothing more is to be read from it.
func (d *device) take(m *message, s *subscription) (synced bool, over time.Duration, err error) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.whole = m.whole(d.whole)
	b := d.whole
	d.received = now
	d.samples = d.samples || !s.onChange
	if now.Sub(d.second) > d.pace.counts {
		d.second, d.bytes = now, 0
	}
	if d.bytes += len(b); d.bytes > d.pace.bytes {
		d.reader.drop(collectors.OverLimit)
		return false, d.second.Add(d.pace.counts).Sub(now), nil
	}
	d.reader.group = s
	synced, err = d.reader.message(b, telemetry.Time(now.UnixNano()))
	if errors.Is(err, errWire) {
		d.reader.drop(collectors.Malformed)
		err = nil
	}
	s.synced = s.synced || synced
	if err == nil && d.reader.stale {
		err = errRenamed
	}
	return synced, 0, err
}

// beat frames what was read, restates values that still hold, and ends a session
// that is stale.
func (l *line) beat(ctx context.Context) {
	restate := time.NewTicker(l.d.pace.restate)
	defer restate.Stop()
	frame := time.NewTimer(time.Hour)
	frame.Stop()
	defer frame.Stop()
	armed := false
	for {
		select {
		case <-l.due:
			if !armed {
				frame.Reset(l.d.pace.together)
				armed = true
			}
		case <-frame.C:
			armed = false
			l.d.mu.Lock()
			l.d.reader.flush()
			l.d.mu.Unlock()
		case now := <-restate.C:
			l.d.mu.Lock()
			quiet := l.d.samples && now.Sub(l.d.received) > l.d.pace.quiet+3*l.d.cfg.Every
			if !quiet {
				l.d.reader.restate(telemetry.Time(now.UnixNano()))
			}
			l.d.mu.Unlock()
			if quiet {
				l.cancel(errQuiet)
			}
		case <-ctx.Done():
			return
		}
	}
}
