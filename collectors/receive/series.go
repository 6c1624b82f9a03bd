package receive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	frames "github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// maxPast is the maximum age of a pushed sample: a sender that was cut off
	// keeps two hours of them, and older ones are of no use.
	maxPast = 2 * time.Hour
	// atOnce is how many requests with series are unpacked at the same time.
	atOnce = 4
	// unpackTimeout is how long one waits that was read whole.
	unpackTimeout = 5 * time.Second
	// unpacked is how many times its packed length a request may have.
	unpacked = 4
)

// push takes series of others by one protocol.
type push struct {
	mu     sync.Mutex
	intake *mapping.Intake
}

// newPush returns the place of one protocol's series; its entity is
// collector:receive/<name>.
func newPush(c Config, name string) *push {
	return &push{intake: mapping.NewIntake(mapping.IntakeConfig{
		Mapper: c.Mapper, MaxForeign: c.MaxForeign, Past: maxPast, Foreign: collectors.Entity(collector, name),
		Book: frames.Config{Collector: collector, Target: name, Class: telemetry.Delayed, Limit: c.MaxSeries},
	})}
}

func (p *push) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intake.Forget()
}

// batch is a request with series that was read whole.
type batch interface {
	// take stores every valid sample, counts the others by reason, and returns how
	// many there were.
	take(in *mapping.Intake, dropped map[collectors.Reason]int) int
}

// written is what a request with series came to.
type written struct {
	samples int // that were not dropped
	dropped map[collectors.Reason]int
}

// enter waits until a request may be unpacked, for a while.
func (r *Receiver) enter(ctx context.Context) (leave func(), err error) {
	late := time.NewTimer(r.unpackTimeout)
	defer late.Stop()
	select {
	case r.room <- struct{}{}:
		return func() { <-r.room }, nil
	case <-late.C:
	case <-ctx.Done():
	}
	return nil, &fault{status: http.StatusTooManyRequests, err: errBusy}
}

var errBusy = errors.New("as many requests as are taken at once are being read: try again")

// takeSeries reads a request with read, emits it and returns the result; false
// where the refusal has been answered.
func (r *Receiver) takeSeries(w http.ResponseWriter, req *http.Request, p *push, read func([]byte, http.Header) (batch, error)) (written, bool) {
	if !r.runs() {
		answerFault(w, closed())
		return written{}, false
	}
	began := r.cfg.Now()
	var b batch
	in := r.body(w, req)
	defer in.release()
	body, err := io.ReadAll(in) // before it has a place among those that are unpacked: it may come slowly
	if err == nil {
		var leave func()
		if leave, err = r.enter(req.Context()); err == nil {
			defer leave()
			b, err = read(body, req.Header)
		}
	}
	got, err := r.emitSeries(began, p, b, err)
	if err != nil {
		answerFault(w, faultOf(err))
		return written{}, false
	}
	return got, true
}

func (r *Receiver) emitSeries(began time.Time, p *push, b batch, err error) (written, error) {
	r.running.RLock()
	defer r.running.RUnlock()
	if r.sink == nil {
		return written{}, closed()
	}
	out := written{dropped: map[collectors.Reason]int{}}
	sweep := collectors.Sweep{Dropped: map[collectors.Reason]int{}}
	if err != nil {
		sweep.Dropped[faultOf(err).reason()]++
	} else {
		p.mu.Lock()
		defer p.mu.Unlock()
		out.samples = b.take(p.intake, sweep.Dropped)
		now := r.now()
		var got mapping.Result
		got, err = p.intake.Emit(r.sink, telemetry.Instant{Source: now, Received: now}, false)
		sweep.Read = got.Read
		for why, n := range got.Dropped {
			sweep.Dropped[why] += n
		}
	}
	sweep.Took = r.cfg.Now().Sub(began)
	for why, n := range sweep.Dropped {
		out.dropped[why] = n
		out.samples = max(0, out.samples-n)
	}
	r.sink.Swept(sweep)
	return out, err
}

// gunzip unpacks a body, to a bound.
func gunzip(body []byte, most int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, most+1))
	if err == nil && int64(len(out)) > most {
		err = tooLong(most)
	}
	return out, err
}

func tooLong(most int64) error {
	return &fault{status: http.StatusRequestEntityTooLarge, err: fmt.Errorf("the body unpacks to more than %d bytes", most)}
}

func unsupportedf(format string, args ...any) error {
	return &fault{status: http.StatusUnsupportedMediaType, err: fmt.Errorf(format, args...)}
}
