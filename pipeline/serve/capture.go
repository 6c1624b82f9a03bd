package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/pin"
	"github.com/quintet-dc/quintet/pipeline/recorder"
)

// captures is how many traces are written at a time: each reads the log as fast
// as its client takes it.
const captures = 2

// maxLast bounds the request, not the available data.
const maxLast = 366 * 24 * time.Hour

// capture answers GET /api/v1/capture with a trace of the log: the last so long,
// an incident, or everything from now on until the client leaves.
func (s *server) capture(w http.ResponseWriter, r *http.Request) {
	c, err := s.wanted(r)
	if err != nil {
		s.reply.problem(w, r, err)
		return
	}
	select {
	case s.capturing <- struct{}{}:
		defer func() { <-s.capturing }()
	default:
		s.reply.problem(w, r, busy("as many traces are written as may be at a time"))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(s.closing, cancel)
	defer stop()
	out := &download{w: w, rc: http.NewResponseController(w), timeout: s.writeTimeout}
	c.Writer = out
	got, err := recorder.Capture(ctx, c)
	switch {
	case err == nil:
		s.cfg.Logger.Info("a trace was captured", "records", got.Records, "from", got.From, "to", got.To, "cold", got.Cold, "by", userOf(r))
	case !out.begun && c.Incident != nil && errors.Is(err, recorder.ErrForgotten) && s.pinned(w, r, c.Incident.ID):
	case !out.begun:
		s.reply.problem(w, r, captureProblem(err))
	default:
		// The status is sent already: a broken connection shows that the trace is
		// not complete.
		s.cfg.Logger.Warn("a trace was broken off", "error", err, "by", userOf(r))
		panic(http.ErrAbortHandler)
	}
}

// pinned answers with the trace that was kept of an incident, and reports
// whether there is one.
func (s *server) pinned(w http.ResponseWriter, r *http.Request, id string) bool {
	if s.cfg.Pins == "" {
		return false
	}
	f, err := os.Open(pin.File(s.cfg.Pins, id))
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := io.Copy(&download{w: w, rc: http.NewResponseController(w), timeout: s.writeTimeout}, f); err != nil {
		s.cfg.Logger.Warn("a trace was broken off", "error", err, "by", userOf(r))
		panic(http.ErrAbortHandler)
	}
	return true
}

func captureProblem(err error) error {
	if errors.Is(err, recorder.ErrForgotten) {
		return &problem{status: http.StatusGone, text: err.Error()}
	}
	return unavailable(err.Error())
}

// wanted reads the range to be captured.
func (s *server) wanted(r *http.Request) (c recorder.CaptureConfig, err error) {
	q := parameters(r, "last", "incident")
	c = recorder.CaptureConfig{Tape: s.cfg.Tape, Shelf: s.cfg.Shelf, Site: s.cfg.Site, Program: "quintet serve", Logger: s.cfg.Logger}
	if text := q.text("last"); text != "" {
		if c.Last, err = time.ParseDuration(text); err != nil || c.Last <= 0 || c.Last > maxLast {
			q.fail("last", "want a length of time such as 15m")
		}
	}
	id := q.text("incident")
	switch {
	case id != "" && q.text("last") != "":
		q.fail("incident", "last is stated, too")
	case s.cfg.Tape == nil:
		return c, &problem{status: http.StatusNotImplemented, text: "capture: no log in this process"}
	}
	if q.err != nil {
		return c, q.err
	}
	if id != "" {
		c.Incident, err = s.explained(id)
	}
	return c, err
}

// explained is the newest revision of an incident.
func (s *server) explained(id string) (*explain.Incident, error) {
	if !s.ledger.current() {
		return nil, unavailable(errReplaying.Error())
	}
	k, ok := s.ledger.get(id)
	if !ok {
		return nil, &problem{status: http.StatusNotFound, field: "incident", text: "no such incident"}
	}
	in := &explain.Incident{}
	if err := json.Unmarshal(k.data, in); err != nil {
		return nil, fmt.Errorf("incident %s: %w", id, err)
	}
	return in, nil
}

// download is a trace on its way to a client, which may take its time but not
// stop reading.
type download struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool
}

// Write implements io.Writer.
func (d *download) Write(b []byte) (int, error) {
	if !d.begun {
		d.begun = true
		h := d.w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", `attachment; filename="capture.qtrace"`)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		if err := d.rc.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	if err := d.rc.SetWriteDeadline(time.Now().Add(d.timeout)); err != nil {
		return 0, err
	}
	n, err := d.w.Write(b)
	if err != nil {
		return n, err
	}
	return n, d.rc.Flush()
}
