package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// The window of one Send: what may be under way and not yet known to be stored.
const (
	windowMessages = 512
	windowBytes    = 4 << 20
	maxAckTimeout  = 4 * time.Second         // with the acknowledgement of what is under way
	minAckTimeout  = 1500 * time.Millisecond // with that of a few messages; see ackTimeout
	slowestBytes   = 256 << 10               // a second, for which nothing is sent again needlessly
	sendAttempts   = 3
)

// Message is one message for the log, ready to be sent.
type Message struct {
	Subject string
	ID      string // repeats with one ID within two minutes are stored once; "" for none
	Data    []byte // what telemetry.AppendRecord wrote
}

// Message returns the message of an encoded record that a collecting process
// states. Ticks and config records belong to no process.
func (b *Bus) Message(collector string, encoded []byte) (Message, error) {
	if len(encoded) == 0 {
		return Message{}, fmt.Errorf("bus: message: %w: empty", ErrRefused)
	}
	kind := telemetry.RecordKind(encoded[0])
	subject, err := b.names.Record(collector, kind)
	if err != nil {
		return Message{}, fmt.Errorf("bus: message: %w: %w", ErrRefused, err)
	}
	m := Message{Subject: subject, Data: encoded}
	switch kind {
	case telemetry.FrameRecord:
		h, err := telemetry.EncodedFrame(encoded[1:]).Header()
		if err != nil {
			return Message{}, fmt.Errorf("bus: message: %w: %w", ErrRefused, err)
		}
		m.ID = h.Fingerprint.String() + "/" + strconv.FormatUint(h.Incarnation, 10) + "/" + strconv.FormatUint(h.Sequence, 10)
	case telemetry.TickRecord:
		r, err := telemetry.ParseRecord(encoded)
		if err != nil {
			return Message{}, fmt.Errorf("bus: message: %w: %w", ErrRefused, err)
		}
		m.ID = b.tickID(r.Tick.At)
	}
	return m, nil
}

// tickID numbers a tick by its grid, so that every ticker of a site gives it one
// name.
func (b *Bus) tickID(at telemetry.Time) string {
	return "tick/" + b.names.site + "/" + strconv.FormatInt(b.tickNumber(at), 10)
}

func (b *Bus) tickNumber(at telemetry.Time) int64 { return int64(at) / int64(b.cfg.Grid) }

// Append puts records of a collecting process into the log, in order, and
// returns when all are stored. A tick or config record is sent only when
// everything before it is stored, and what follows a tick when that is. It tries
// until ctx is done; an error that wraps ErrRefused names the record that can
// never be stored.
func (b *Bus) Append(ctx context.Context, collector string, rs ...*telemetry.Record) error {
	run := make([]Message, 0, len(rs))
	for i, r := range rs {
		encoded, err := telemetry.AppendRecord(nil, r)
		if err != nil {
			return fmt.Errorf("bus: append record %d of %d: %w: %w", i+1, len(rs), ErrRefused, err)
		}
		m, err := b.Message(collector, encoded)
		if err != nil {
			return fmt.Errorf("bus: append record %d of %d: %w", i+1, len(rs), err)
		}
		if barrier := r.Kind == telemetry.TickRecord || r.Kind == telemetry.ConfigRecord; barrier {
			if err := b.store(ctx, run); err != nil {
				return err
			}
			run = run[:0]
		}
		if run = append(run, m); r.Kind == telemetry.TickRecord {
			if err := b.storeTick(ctx, m, r.Tick.At); err != nil {
				return err
			}
			run = run[:0]
		}
	}
	return b.store(ctx, run)
}

// storeTick stores a tick. The log reports a duplicate id if another ticker was
// faster, and also if a client used that id, which is no secret, for another
// message: then the tick is sent without one.
func (b *Bus) storeTick(ctx context.Context, m Message, at telemetry.Time) error {
	err := b.store(ctx, []Message{m})
	if !errors.Is(err, errKnown) {
		return err
	}
	last, ok, err := b.LastTick(ctx)
	if err != nil || ok && b.tickNumber(last) >= b.tickNumber(at) {
		return err
	}
	b.count.usurped.Inc()
	m.ID = ""
	return b.store(ctx, []Message{m})
}

// errKnown means that the log already has a message of a tick's name.
var errKnown = errors.New("a message of that name is stored already")

// store sends until everything is stored.
func (b *Bus) store(ctx context.Context, ms []Message) error {
	wait, quiet := 50*time.Millisecond, false
	for len(ms) > 0 {
		n, err := b.Send(ctx, ms)
		ms = ms[n:]
		if err == nil {
			continue
		}
		if errors.Is(err, errKnown) {
			return err
		}
		if !quiet {
			quiet = true
			b.cfg.Logger.Warn("appending is interrupted", "subject", ms[0].Subject, "error", err)
		}
		if errors.Is(err, ErrRefused) || b.fatal(ctx, err) {
			return fmt.Errorf("bus: append: %w", err)
		}
		if n > 0 {
			wait = 50 * time.Millisecond
		}
		if late := b.pause(ctx, wait); late != nil {
			return fmt.Errorf("bus: append: %w (%w)", late, err)
		}
		wait = min(2*wait, 2*time.Second)
	}
	return nil
}

// Send publishes messages in order through a bounded window and returns how
// many from the front are known to be stored. On an error the caller sends the
// rest again: what was stored beyond the front is recognised by its identity.
// An error that wraps ErrRefused is about message number stored, which is of no
// use to send again. Without a connection it fails at once.
func (b *Bus) Send(ctx context.Context, ms []Message) (stored int, err error) {
	for attempt := 1; ; attempt++ {
		n, err := b.pub.send(ctx, ms[stored:])
		stored += n
		switch {
		case err == nil:
			return stored, nil
		case errors.Is(err, ErrRefused), errors.Is(err, errKnown), b.fatal(ctx, err), !b.Connected(), n == 0 && attempt >= sendAttempts:
			return stored, fmt.Errorf("bus: send message %d of %d: %w", stored+1, len(ms), err)
		case n > 0:
			attempt = 0
		}
		b.count.retried.Inc()
		if late := b.pause(ctx, 100*time.Millisecond); late != nil {
			return stored, fmt.Errorf("bus: send message %d of %d: %w (%w)", stored+1, len(ms), late, err)
		}
	}
}

// publisher matches published messages with their acknowledgements.
type publisher struct {
	bus    *Bus
	prefix string // of the subjects where acknowledgements arrive

	mu      sync.Mutex
	batches map[uint64]*batch
	next    uint64
}

// batch is one Send under way.
type batch struct {
	messages []Message
	// All below is guarded by publisher.mu.
	done      []bool
	failed    int   // index of the first message that failed, or len(messages)
	err       error // why
	published int
	pending   int // published and not done
	bytes     int // of those
	moved     chan struct{}
}

// listen subscribes to acknowledgements.
func (p *publisher) listen() error {
	p.prefix = p.bus.conn.NewInbox()
	_, err := p.bus.conn.Subscribe(p.prefix+".*.*", p.handleAck)
	return err
}

// send makes one attempt.
func (p *publisher) send(ctx context.Context, ms []Message) (stored int, err error) {
	if len(ms) == 0 {
		return 0, nil
	}
	bt := &batch{messages: ms, done: make([]bool, len(ms)), failed: len(ms), moved: make(chan struct{}, 1)}
	p.mu.Lock()
	p.next++
	id := p.next
	p.batches[id] = bt
	p.mu.Unlock()
	err = p.drive(ctx, id, bt)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.batches, id)
	for stored < len(ms) && bt.done[stored] {
		stored++
	}
	if stored == len(ms) {
		return stored, nil
	}
	if bt.err != nil && (bt.failed == stored || err == nil) {
		err = bt.err
	}
	return stored, err
}

// drive publishes a batch as its window allows and waits for the last answer.
func (p *publisher) drive(ctx context.Context, id uint64, bt *batch) error {
	gone := p.bus.gone()
	reply := p.prefix + "." + strconv.FormatUint(id, 36) + "."
	timeout := time.NewTimer(maxAckTimeout)
	defer timeout.Stop()
	for {
		more, err := p.fill(bt, reply)
		if err != nil || !more {
			return err
		}
		most := p.ackTimeout(bt)
		timeout.Reset(most)
		select {
		case <-bt.moved:
		case <-gone:
			return nats.ErrDisconnected
		case <-timeout.C:
			return fmt.Errorf("no acknowledgement within %v: %w", most, nats.ErrTimeout)
		case <-p.bus.closing.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ackTimeout returns the timeout of the next acknowledgement. Messages that are
// sent to a cluster while the log has no leader are lost without an error, so small
// batches are resent soon: otherwise writing would resume only after a timeout that
// began just before the new leader was elected.
func (p *publisher) ackTimeout(bt *batch) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(maxAckTimeout, minAckTimeout+time.Duration(bt.bytes)*time.Second/slowestBytes)
}

// fill publishes while the window has room and nothing failed. It reports
// whether there is anything to wait for.
func (p *publisher) fill(bt *batch, reply string) (more bool, err error) {
	for {
		p.mu.Lock()
		i := bt.published
		room := bt.pending == 0 || bt.pending < windowMessages && i < len(bt.messages) && bt.bytes+len(bt.messages[i].Data) <= windowBytes
		if i == len(bt.messages) || bt.err != nil || !room {
			more = bt.pending > 0
			p.mu.Unlock()
			return more, nil
		}
		m := bt.messages[i]
		bt.published++
		bt.pending++
		bt.bytes += len(m.Data)
		p.mu.Unlock()
		if err := p.publish(m, reply+strconv.Itoa(i)); err != nil {
			p.settle(bt, i, err)
			if !errors.Is(err, ErrRefused) {
				return false, err
			}
		}
	}
}

func (p *publisher) publish(m Message, reply string) error {
	msg := nats.Msg{Subject: m.Subject, Reply: reply, Data: m.Data}
	if m.ID != "" {
		msg.Header = nats.Header{jetstream.MsgIDHeader: []string{m.ID}}
	}
	err := p.bus.conn.PublishMsg(&msg)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		p.bus.count.refused("size")
		return fmt.Errorf("%w: %s: %d bytes: %w", ErrRefused, m.Subject, len(m.Data), err)
	case errors.Is(err, nats.ErrBadSubject):
		p.bus.count.refused("subject")
		return fmt.Errorf("%w: %q: %w", ErrRefused, m.Subject, err)
	}
	return reconnectError(err)
}

// settle notes the end of one message.
func (p *publisher) settle(bt *batch, i int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleLocked(bt, i, err)
}

func (p *publisher) settleLocked(bt *batch, i int, err error) {
	if i < 0 || i >= bt.published || bt.done[i] {
		return
	}
	bt.pending--
	bt.bytes -= len(bt.messages[i].Data)
	switch {
	case err == nil:
		bt.done[i] = true
		p.bus.count.sent.Inc()
		p.bus.count.sentBytes.Add(len(bt.messages[i].Data))
	case i < bt.failed:
		bt.failed, bt.err = i, err
	}
	select {
	case bt.moved <- struct{}{}:
	default:
	}
}

// handleAck processes one acknowledgement.
func (p *publisher) handleAck(m *nats.Msg) {
	id, i, ok := ackSubject(strings.TrimPrefix(m.Subject, p.prefix+"."))
	if !ok {
		return
	}
	duplicate, err := parseAck(m)
	if errors.Is(err, ErrRefused) {
		p.bus.count.refused("server")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if bt := p.batches[id]; bt != nil {
		if duplicate {
			p.bus.count.duplicates.Inc()
			if i >= 0 && i < len(bt.messages) && bt.messages[i].Subject == p.bus.names.Ticks() {
				err = errKnown
			}
		}
		p.settleLocked(bt, i, err)
	}
}

// ackSubject reads "<batch>.<index>".
func ackSubject(s string) (id uint64, i int, ok bool) {
	a, b, ok := strings.Cut(s, ".")
	if !ok {
		return 0, 0, false
	}
	id, err := strconv.ParseUint(a, 36, 64)
	if err != nil {
		return 0, 0, false
	}
	i, err = strconv.Atoi(b)
	return id, i, err == nil
}

// parseAck reads a stream's acknowledgement of a message.
func parseAck(m *nats.Msg) (duplicate bool, err error) {
	if usualAck(m.Data) {
		return false, nil
	}
	if m.Header.Get("Status") == "503" {
		return false, nats.ErrNoResponders
	}
	var ack struct {
		Error     *jetstream.APIError `json:"error"`
		Stream    string              `json:"stream"`
		Duplicate bool                `json:"duplicate"`
	}
	switch err := json.Unmarshal(m.Data, &ack); {
	case err != nil:
		return false, fmt.Errorf("acknowledgement: %w", err)
	case ack.Error != nil && ack.Error.Code == 503:
		return false, ack.Error
	case ack.Error != nil:
		return false, fmt.Errorf("%w: %w", ErrRefused, ack.Error)
	case ack.Stream == "":
		return false, errors.New("acknowledgement: names no stream")
	}
	return ack.Duplicate, nil
}

// usualAck knows the acknowledgement of nearly every message, {"stream":"s",
// "seq":1}, without the two microseconds that reading JSON takes.
func usualAck(data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"stream":"quintet-`)) && bytes.HasSuffix(data, []byte("}")) &&
		bytes.Count(data, []byte{','}) == 1 && bytes.Contains(data, []byte(`"seq":`))
}

// denied receives the error that a subject is not permitted: the server sends it
// apart from the acknowledgements, which never arrive.
func (p *publisher) denied(err error) {
	subject, ok := deniedSubject(err)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, bt := range p.batches {
		for i := range bt.published {
			if !bt.done[i] && bt.messages[i].Subject == subject {
				p.bus.count.refused("permission")
				p.settleLocked(bt, i, fmt.Errorf("%w: %w", ErrRefused, err))
			}
		}
	}
}

// deniedSubject reads the subject out of the server's refusal to publish.
func deniedSubject(err error) (string, bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return "", false
	}
	_, rest, ok := strings.Cut(err.Error(), `ublish to "`)
	if !ok {
		return "", false
	}
	subject, _, ok := strings.Cut(rest, `"`)
	return subject, ok
}
