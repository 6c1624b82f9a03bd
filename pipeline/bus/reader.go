package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// What a reader asks for at a time. Two pulls may be outstanding, so twice this
// is the most that waits in memory: messages that overtake their reader are
// dropped by the client, and counting bytes is what prevents it.
const (
	pullMessages  = 256
	pullBytes     = 1 << 20
	pullExpires   = 30 * time.Second
	pullHeartbeat = 2 * time.Second
	idleConsumer  = 30 * time.Second // how long the server keeps one that nobody uses
	// After endBeats without a delivery, a finite reading asks whether there is more:
	// of a damaged stream the server counts messages that it cannot read.
	endBeats = 3
)

// delivery is one message of a stream.
type delivery struct {
	position uint64
	stored   telemetry.Time
	pending  uint64 // how many more there are now
	subject  string
	header   nats.Header
	data     []byte
}

// reader hands over a stream's messages in order, from a position or a time, and
// does not lose its place when the server does.
type reader struct {
	bus    *Bus
	stream string
	// filters chooses subjects; nil is all of them, and then every position must
	// follow its predecessor.
	filters  []string
	position uint64         // the last one handed over, or the one to start behind
	stored   telemetry.Time // when it was stored; 0 if it was not read here
	from     telemetry.Time // where to start when position is 0
	lenient  bool           // what was forgotten is passed over
	finite   bool           // end with what there is

	fn    func(delivery) error
	fnErr error // the caller's, which ends everything
	quiet bool  // trouble has been logged
}

var (
	errStop = errors.New("end")       // fn has enough
	errEnd  = errors.New("end of it") // a finite reader has read everything
)

// run reads until ctx is done, fn returns an error, or the log cannot be
// continued.
func (r *reader) run(ctx context.Context) error {
	wait := 50 * time.Millisecond
	for {
		before := r.position
		err := r.session(ctx)
		switch {
		case r.fnErr != nil:
			return r.fnErr
		case errors.Is(err, errEnd):
			return nil
		case errors.Is(err, ErrForgotten), errors.Is(err, ErrRewritten), errors.Is(err, ErrRefused):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case r.bus.closing.Err() != nil, errors.Is(err, nats.ErrConnectionClosed):
			return ErrClosed
		}
		if r.position != before {
			wait = 50 * time.Millisecond
		}
		if !r.quiet {
			r.quiet = true
			r.bus.cfg.Logger.Warn("reading is interrupted", "stream", r.stream, "position", r.position, "error", err)
		}
		r.bus.count.consumers.Inc()
		if err := r.bus.pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// session reads through one consumer until something breaks.
func (r *reader) session(ctx context.Context) error {
	s := session{reader: r, gone: r.bus.gone(), messages: make(chan *nats.Msg, 4*pullMessages)}
	if err := r.check(ctx); err != nil {
		return err
	}
	inbox := r.bus.conn.NewInbox()
	sub, err := r.bus.conn.ChanSubscribe(inbox, s.messages)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := s.consumer(ctx, inbox); err != nil {
		return err
	}
	return s.loop(ctx)
}

// check compares the stream with the reader's position.
func (r *reader) check(ctx context.Context) error {
	if r.position == 0 || r.filters != nil || r.lenient {
		return nil
	}
	state, err := r.streamState(ctx)
	if err != nil {
		return err
	}
	return r.continues(state)
}

func (r *reader) streamState(ctx context.Context) (s State, err error) {
	err = r.bus.attempt(ctx, requestTimeout, r.stream, func(ctx context.Context) error {
		s, err = r.bus.state(ctx, r.stream)
		return err
	})
	return s, err
}

func (r *reader) continues(state State) error {
	switch {
	case state.Last < r.position:
		return fmt.Errorf("bus: read %s behind position %d: it ends at %d: %w", r.stream, r.position, state.Last, ErrRewritten)
	case state.First > r.position+1:
		return fmt.Errorf("bus: read %s behind position %d: it begins at %d: %w", r.stream, r.position, state.First, ErrForgotten)
	}
	return nil
}

// session is one consumer of a reader.
type session struct {
	*reader
	messages chan *nats.Msg
	gone     <-chan struct{}
	next     string // where pulls go
	inbox    string
	order    uint64 // of the last message of this consumer
	verify   bool   // the first message is one that was read before
	left     int    // messages that may still come for the pulls under way
	received bool   // anything, since the last beat
	huge     bool   // the next message is larger than a pull
	pending  uint64 // what the consumer had to deliver when it was made
	idle     int    // beats since the last delivery
}

// consumer creates the server-side consumer: in memory, without acknowledgements,
// removed soon after the last pull.
func (s *session) consumer(ctx context.Context, inbox string) error {
	var info *jetstream.ConsumerInfo
	err := s.bus.attempt(ctx, requestTimeout, s.stream, func(ctx context.Context) error {
		c, err := s.bus.js.CreateConsumer(ctx, s.stream, s.consumerConfig())
		if err == nil {
			info = c.CachedInfo()
		}
		return err
	})
	if err != nil {
		return err
	}
	s.inbox, s.pending = inbox, info.NumPending
	s.next = "$JS.API.CONSUMER.MSG.NEXT." + s.stream + "." + info.Name
	return nil
}

func (s *session) consumerConfig() jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1, Replicas: 1, MemoryStorage: true,
		InactiveThreshold: idleConsumer, FilterSubjects: s.filters,
	}
	switch {
	case s.position > 0 && s.stored != 0 && s.filters == nil && !s.lenient:
		// Begin with the last message that was read, to see that it still is.
		s.verify = true
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, s.position
	case s.position > 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, s.position+1
	case s.from != 0:
		at := time.Unix(0, int64(s.from)).UTC()
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &at
	default:
		cfg.DeliverPolicy = jetstream.DeliverAllPolicy
	}
	return cfg
}

func (s *session) loop(ctx context.Context) error {
	if s.finite && s.pending == 0 {
		return errEnd
	}
	beat := time.NewTicker(2*pullHeartbeat + pullHeartbeat/2)
	defer beat.Stop()
	for {
		if err := s.pull(); err != nil {
			return err
		}
		select {
		case m := <-s.messages:
			s.received = true
			if err := s.take(ctx, m); err != nil {
				return err
			}
		case <-beat.C:
			if !s.received {
				return fmt.Errorf("no data for %v: %w", 2*pullHeartbeat, nats.ErrTimeout)
			}
			s.received = false
		case <-s.gone:
			return nats.ErrDisconnected
		case <-s.bus.closing.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pull keeps one to two pulls under way.
func (s *session) pull() error {
	if s.left >= pullMessages {
		return nil
	}
	request := struct {
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes,omitempty"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{pullMessages, pullBytes, pullExpires, pullHeartbeat}
	if s.huge {
		if s.left > 0 {
			return nil
		}
		request.Batch, request.MaxBytes = 1, 0
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	s.left += request.Batch
	return s.bus.conn.PublishRequest(s.next, s.inbox, body)
}

// take handles one message from the server: a delivery, or the status of a pull.
func (s *session) take(ctx context.Context, m *nats.Msg) error {
	if status := m.Header.Get("Status"); status != "" && len(m.Data) == 0 && !strings.HasPrefix(m.Reply, ackPrefix) {
		return s.status(ctx, status, m)
	}
	d, order, err := parseDelivery(m)
	if err != nil {
		return err
	}
	s.left--
	s.huge, s.idle = false, 0
	if order != s.order+1 {
		return fmt.Errorf("message %d of the consumer follows %d", order, s.order)
	}
	s.order = order
	if again, err := s.known(ctx, d); again || err != nil {
		return err
	}
	if s.quiet {
		s.quiet = false
		s.bus.cfg.Logger.Info("reading goes on", "stream", s.stream, "position", d.position)
	}
	s.position, s.stored = d.position, d.stored
	if s.fnErr = s.fn(d); s.fnErr != nil {
		return errStop
	}
	if s.finite && d.pending == 0 {
		return errEnd
	}
	return nil
}

// known compares a delivery with what was read before. It reports whether this
// is a message that was already handed over.
func (s *session) known(ctx context.Context, d delivery) (again bool, err error) {
	if s.filters != nil || s.lenient || s.position == 0 {
		return false, nil
	}
	first := s.verify
	s.verify = false
	switch {
	case first && d.position == s.position:
		if d.stored != s.stored {
			return false, fmt.Errorf("bus: read %s: position %d was stored at %s, now at %s: %w", s.stream, d.position, s.stored, d.stored, ErrRewritten)
		}
		return true, nil
	case d.position == s.position+1:
		return false, nil
	}
	// Positions are missing: expired by retention, or deleted from the middle.
	state, err := s.streamState(ctx)
	if err != nil {
		return false, err
	}
	if err := s.continues(state); err != nil {
		return false, err
	}
	s.bus.count.holes.Add(int(d.position - s.position - 1))
	s.bus.cfg.Logger.Warn("the log has a hole", "stream", s.stream, "after", s.position, "before", d.position)
	return false, nil
}

// status handles the status of a pull: it ran out, or the consumer is gone.
func (s *session) status(ctx context.Context, status string, m *nats.Msg) error {
	const ranOut, conflict, beat = "408", "409", "100"
	text := m.Header.Get("Description")
	switch {
	case status == beat:
		s.idle++
		if s.finite && s.idle%endBeats == 0 && s.ended(ctx) {
			s.bus.cfg.Logger.Warn("a stream holds less than its server states", "stream", s.stream, "position", s.position)
			return errEnd
		}
		return nil
	case status == ranOut, status == conflict && (strings.Contains(text, "MaxBytes") || strings.Contains(text, "Batch Completed")):
		left, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		s.left -= max(0, min(left, s.left))
		if strings.Contains(text, "MaxBytes") && m.Header.Get("Nats-Pending-Bytes") == strconv.Itoa(pullBytes) {
			s.huge = true
		}
		return nil
	}
	return fmt.Errorf("pull: %s %s", status, text)
}

// ended reports whether the stream holds no message behind the position. Without an
// answer it may hold one.
func (s *session) ended(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pullHeartbeat)
	defer cancel()
	stream, err := s.bus.js.Stream(ctx, s.stream)
	if err != nil {
		return false
	}
	filters := s.filters
	if len(filters) == 0 {
		filters = []string{">"}
	}
	for _, filter := range filters {
		if _, err := stream.GetMsg(ctx, s.position+1, jetstream.WithGetMsgSubject(filter)); !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false
		}
	}
	return true
}

const ackPrefix = "$JS.ACK."

// parseDelivery reads a message and its reply subject:
// "$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<delivered>.<position>.<order>.<stored>.<pending>[.<more>]".
func parseDelivery(m *nats.Msg) (d delivery, order uint64, err error) {
	var tokens [16]string
	n := 0
	for t := range strings.SplitSeq(m.Reply, ".") {
		if n == len(tokens) {
			break
		}
		tokens[n] = t
		n++
	}
	at := 4
	if n >= 11 {
		at = 6
	}
	if !strings.HasPrefix(m.Reply, ackPrefix) || n != 9 && n < 11 {
		return delivery{}, 0, fmt.Errorf("delivery: reply subject %.100q is none", m.Reply)
	}
	var v [5]uint64
	for i := range v {
		if v[i], err = strconv.ParseUint(tokens[at+i], 10, 63); err != nil {
			return delivery{}, 0, fmt.Errorf("delivery: reply subject %.100q: token %d: %w", m.Reply, at+i+1, err)
		}
	}
	return delivery{position: v[1], stored: telemetry.Time(v[3]), pending: v[4], subject: m.Subject, header: m.Header, data: m.Data}, v[2], nil
}
