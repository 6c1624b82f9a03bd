package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Questions (requests), each with one answer (response).
const (
	errorHeader   = "Quintet-Error"
	answerTimeout = 10 * time.Second
	answerGroup   = "answers"

	questionsWaiting = 64 // while one is answered; more are dropped, and their askers wait in vain
	questionsBytes   = 8 << 20
)

// AnswerError is an error that the answering side returned.
type AnswerError struct{ What, Text string }

// Error implements error.
func (e *AnswerError) Error() string { return "ask " + e.What + ": " + e.Text }

// Answer answers questions, one at a time, until stop is called, which waits
// for the one under way. Where several processes answer, each question goes to
// one of them. fn has ten seconds.
func (b *Bus) Answer(what string, fn func(ctx context.Context, req []byte) ([]byte, error)) (stop func(), err error) {
	conn, err := b.answerer()
	if err != nil {
		return nil, fmt.Errorf("bus: answer %s: %w", what, err)
	}
	sub, err := conn.QueueSubscribeSync(b.names.question(what), answerGroup)
	if err != nil {
		return nil, fmt.Errorf("bus: answer %s: %w", what, err)
	}
	if err = sub.SetPendingLimits(questionsWaiting, questionsBytes); err != nil {
		return nil, fmt.Errorf("bus: answer %s: %w", what, err)
	}
	if conn.IsConnected() {
		_ = conn.FlushTimeout(requestTimeout) // from here on there is a responder
	}
	ctx, cancel := context.WithCancel(b.closing)
	done := make(chan struct{})
	b.answers.Add(1)
	go func() {
		defer b.answers.Done()
		defer close(done)
		for {
			m, err := sub.NextMsgWithContext(ctx)
			switch {
			case err == nil:
				b.answer(ctx, m, fn)
			case ctx.Err() != nil, errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubscription):
				return
			default:
				_ = b.pause(ctx, 100*time.Millisecond)
			}
		}
	}()
	return func() {
		_ = sub.Unsubscribe()
		if conn.IsConnected() {
			_ = conn.FlushTimeout(requestTimeout)
		}
		cancel()
		<-done
	}, nil
}

func (b *Bus) answer(ctx context.Context, m *nats.Msg, fn func(context.Context, []byte) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	data, err := fn(ctx, m.Data)
	if limit := b.conn.MaxPayload(); err == nil && limit > 0 && int64(len(data)) > limit {
		err = fmt.Errorf("an answer of %d bytes, at most %d", len(data), limit)
	}
	reply := &nats.Msg{Data: data}
	if err != nil {
		reply = &nats.Msg{Header: nats.Header{errorHeader: []string{oneLine(err.Error())}}}
	}
	if err := m.RespondMsg(reply); err != nil {
		b.cfg.Logger.Debug("an answer that did not leave", "subject", m.Subject, "error", err)
	}
}

// answerer returns the connection that answers questions: one of its own where the
// credentials hold a user for it. Only that user may publish to the reply subject of
// what it received. The server keeps such a permission for each message delivered to
// the connection for a minute and searches them all, so the connection that reads
// the log must not have it.
func (b *Bus) answerer() (*nats.Conn, error) {
	if b.answering == nil {
		return b.conn, nil
	}
	b.answererMu.Lock()
	defer b.answererMu.Unlock()
	if b.replies != nil {
		return b.replies, nil
	}
	security, err := securityOptions(b.answering)
	if err != nil {
		return nil, err
	}
	opts := append(b.commonOptions(), nats.RetryOnFailedConnect(true), nats.Name("quintet/"+b.cfg.Name+"/answers"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.count.asyncErrors.Inc()
			b.cfg.Logger.Debug("error of the connection that answers questions", "error", err)
		}))
	b.replies, err = nats.Connect(strings.Join(b.cfg.Servers, ","), append(opts, security...)...)
	if conn := b.replies; err == nil && b.cfg.InProcess == nil {
		b.answers.Go(func() { b.watchConnection(conn) })
	}
	return b.replies, err
}

// closeAnswerer sends the pending answers and ends the connection.
func (b *Bus) closeAnswerer() {
	b.answererMu.Lock()
	defer b.answererMu.Unlock()
	if b.replies == nil {
		return
	}
	if b.replies.IsConnected() {
		_ = b.replies.FlushTimeout(time.Second)
	}
	b.replies.Close()
}

// oneLine makes text fit a header.
func oneLine(text string) string {
	out := []rune(text)
	for i, r := range out {
		if r == '\r' || r == '\n' {
			out[i] = ' '
		}
	}
	return string(out[:min(len(out), 1000)])
}

// Ask sends a question and returns the answer. It returns ErrNobody if no process
// answers, and *AnswerError for an error of the answering side.
func (b *Bus) Ask(ctx context.Context, what string, req []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := b.conn.RequestWithContext(ctx, b.names.question(what), req)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("bus: ask %s: %w", what, ErrNoResponders)
	case err != nil:
		return nil, fmt.Errorf("bus: ask %s: %w", what, reconnectError(err))
	}
	if text := m.Header.Get(errorHeader); text != "" {
		return nil, fmt.Errorf("bus: %w", &AnswerError{what, text})
	}
	return m.Data, nil
}
