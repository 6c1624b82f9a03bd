package bus

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/nats-io/nats.go"
)

// Outcomes that callers distinguish.
var (
	// ErrForgotten: the log no longer stores the next entry; start from its oldest
	// entry, or from a younger snapshot.
	ErrForgotten = errors.New("the log has forgotten what comes next")
	// ErrRewritten: the entry at the wanted position is not the one that was read
	// there: the log lost its end in a power cut, or was created again.
	ErrRewritten = errors.New("the log is not the one that was read")
	// ErrRefused: the message can never be stored (too large, not permitted, not
	// a record); sending it again is of no use.
	ErrRefused = errors.New("refused")
	// ErrNoResponders: no process answers such a question now.
	ErrNoResponders = errors.New("no responders")
	// ErrUnreachable: no server is connected now.
	ErrUnreachable = errors.New("the log cannot be reached")
	// ErrClosed: this Bus was closed.
	ErrClosed = errors.New("the bus is closed")
	// ErrDamaged: a snapshot's bytes are not those that were put.
	ErrDamaged = errors.New("damaged")
	// ErrNotRetained: no entry is stored at the position.
	ErrNotRetained = errors.New("not stored")
)

// reconnectError replaces the client's error about its reconnect buffer, of which it has
// none, by ErrUnreachable: there is no connection.
func reconnectError(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return ErrUnreachable
	}
	return err
}

// isNetwork reports whether err comes from there being no one to talk to.
func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") {
		return false // a TLS error about the other side
	}
	return op != nil || errors.As(err, &dns) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED)
}

// fatal reports whether waiting cannot help a request that failed with err.
func (b *Bus) fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || b.closing.Err() != nil || errors.Is(err, nats.ErrConnectionClosed)
}
