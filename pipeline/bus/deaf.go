package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// lookAtConnection is how often a connection is looked at, and how long one on
	// which nothing arrives is left alone.
	lookAtConnection = time.Second
	// answerWithin is how long the server then has to answer a ping.
	answerWithin = 3 * time.Second
)

// watchConnection closes a connection on which no data arrives any more: the
// server's machine or the path to it is gone, and the connection was not closed.
// The client's own pings would detect it within a minute; the log must be writable
// again within ten seconds. A connection on which data arrives is never closed,
// however slow it is: a response may be queued behind the data. It returns when the
// bus is closed.
func (b *Bus) watchConnection(conn *nats.Conn) {
	look := time.NewTicker(lookAtConnection)
	defer look.Stop()
	for seen := conn.Stats(); ; {
		select {
		case <-b.closing.Done():
			return
		case <-look.C:
		}
		before := seen
		seen = conn.Stats()
		if !idle(conn, before, seen) || b.answered(conn) || !idle(conn, seen, conn.Stats()) {
			continue
		}
		b.count.deaf.Inc()
		b.cfg.Logger.Warn("the log's server does not answer; another connection is made", "server", conn.ConnectedUrlRedacted())
		if err := conn.ForceReconnect(); err != nil {
			b.cfg.Logger.Warn("no other connection is made", "error", err)
		}
	}
}

// idle reports whether nothing arrived between two looks at a connection.
func idle(conn *nats.Conn, before, after nats.Statistics) bool {
	return conn.IsConnected() && before.InBytes == after.InBytes && before.Reconnects == after.Reconnects
}

// answered pings the server and reports whether it answered in time.
func (b *Bus) answered(conn *nats.Conn) bool {
	ctx, stop := context.WithTimeout(b.closing, answerWithin)
	defer stop()
	return conn.FlushWithContext(ctx) == nil || b.closing.Err() != nil
}
