package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/quintet-dc/quintet/pipeline/exposition"
)

// ownEvery is how often the process's own metrics are written.
const ownEvery = 15 * time.Second

// own writes what this process shows at /metrics into the history, at the time
// of this machine.
type own struct {
	cfg   Config
	page  *exposition.Page
	count *counters
	db    storage.Appendable
	out   renewed
}

// run writes until ctx is done.
func (o *own) run(ctx context.Context) {
	t := time.NewTicker(ownEvery)
	defer t.Stop()
	for {
		if err := o.write(time.Now().UnixMilli()); err != nil {
			o.cfg.Logger.Warn("the process's own metrics are not written", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// write writes one page.
func (o *own) write(at int64) error {
	var page bytes.Buffer
	if err := o.page.Write(&page); err != nil {
		return err
	}
	app := o.db.Appender(context.Background())
	put := func(l labels.Labels, v float64) {
		switch _, err := app.Append(0, l, at, v); {
		case err != nil:
			o.count.refused.Inc()
		case value.IsStaleNaN(v):
			o.count.stale.Inc()
		}
	}
	err := o.parse(page.Bytes(), put)
	o.out.end(put)
	return errors.Join(err, app.Commit())
}

// parse puts every series of a page.
func (o *own) parse(page []byte, put putter) error {
	p, err := textparse.New(page, "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{FallbackContentType: "text/plain"})
	if err != nil {
		return err
	}
	var l labels.Labels
	for {
		e, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e != textparse.EntrySeries:
			continue
		}
		_, _, v := p.Series()
		p.Labels(&l)
		if math.IsNaN(v) {
			continue
		}
		b := labels.NewBuilder(l)
		if job := l.Get("job"); job != "" {
			b.Set("exported_job", job)
		}
		o.out.put(b.Set("job", "quintet").Set("instance", o.cfg.Process).Labels(), v, put)
	}
}
