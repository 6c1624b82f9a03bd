package forward

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

const (
	// shards is how many requests to a receiver may be in progress.
	shards = 8
	// capacity is how many samples of a shard may be pending.
	capacity = 10_000
	// perRequest is how many samples a request has at most.
	perRequest = 2_000
	// within is how long a sample waits for others.
	within = time.Second
)

// sample is one sample of a series. Times are in ms since 1970; start is 0 if not
// known.
type sample struct {
	labels    labels.Labels
	start, at int64
	value     float64
}

// known is a series of the write-ahead log.
type known struct {
	labels  labels.Labels
	segment int // the last one that names it
}

// queue takes the samples of the write-ahead log and sends them to one receiver.
type queue struct {
	external labels.Labels
	counts   counts
	sender   *sender
	watcher  *wlog.Watcher
	watching atomic.Bool // the watcher has been started
	shards   [shards]chan sample
	ending   chan struct{}

	mu     sync.Mutex
	series map[chunks.HeadSeriesRef]known
}

func newQueue(external labels.Labels, c counts) *queue {
	q := &queue{external: external, counts: c, ending: make(chan struct{}), series: map[chunks.HeadSeriesRef]known{}}
	for i := range q.shards {
		q.shards[i] = make(chan sample, capacity)
	}
	return q
}

// run sends until ctx is done and what is pending then is sent, or sending is done.
func (q *queue) run(ctx, sending context.Context) {
	var parts sync.WaitGroup
	for _, in := range q.shards {
		parts.Go(func() { q.send(sending, in) })
	}
	q.watcher.Start()
	q.watching.Store(true)
	<-ctx.Done()
	close(q.ending)
	q.watcher.Stop() // no more calls of Append
	for _, in := range q.shards {
		close(in)
	}
	parts.Wait()
}

// send sends the samples of a shard, many at a time, until in is closed.
func (q *queue) send(ctx context.Context, in <-chan sample) {
	batch := make([]sample, 0, perRequest)
	flush := time.NewTicker(within)
	defer flush.Stop()
	enc := encoder{version: q.sender.target.Version}
	give := func() {
		if len(batch) > 0 {
			q.sender.send(ctx, &enc, batch)
			batch = batch[:0]
		}
	}
	for {
		select {
		case x, more := <-in:
			if !more {
				give()
				return
			}
			if batch = append(batch, x); len(batch) == perRequest {
				give()
				flush.Reset(within)
			}
		case <-flush.C:
			give()
		}
	}
}

// Append implements wlog.WriteTo. It blocks while the shard of a sample is full, and
// returns false when the queue ends.
func (q *queue) Append(samples []record.RefSample) bool {
	for _, s := range samples {
		q.mu.Lock()
		of, ok := q.series[s.Ref]
		q.mu.Unlock()
		if !ok {
			q.counts.dropped.Inc()
			continue
		}
		select {
		case q.shards[uint64(s.Ref)%shards] <- sample{of.labels, s.ST, s.T, s.V}:
			q.counts.pending.Inc()
			q.counts.enqueued(s.T)
		case <-q.ending:
			return false
		}
	}
	return true
}

// StoreSeries implements wlog.WriteTo.
func (q *queue) StoreSeries(series []record.RefSeries, segment int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range series {
		q.series[s.Ref] = known{q.labelled(s.Labels), segment}
	}
}

// labelled adds the external labels that a series does not have.
func (q *queue) labelled(l labels.Labels) labels.Labels {
	if q.external.IsEmpty() {
		return l
	}
	b := labels.NewBuilder(l)
	q.external.Range(func(e labels.Label) {
		if !l.Has(e.Name) {
			b.Set(e.Name, e.Value)
		}
	})
	return b.Labels()
}

// UpdateSeriesSegment implements wlog.WriteTo.
func (q *queue) UpdateSeriesSegment(series []record.RefSeries, segment int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range series {
		if of, ok := q.series[s.Ref]; ok {
			of.segment = segment
			q.series[s.Ref] = of
		}
	}
}

// SeriesReset implements wlog.WriteTo: the series of older segments are gone.
func (q *queue) SeriesReset(segment int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ref, of := range q.series {
		if of.segment < segment {
			delete(q.series, ref)
		}
	}
}

// The history has numbers only: neither exemplars nor native histograms, and its
// metadata is the catalogue.

// AppendExemplars implements wlog.WriteTo.
func (*queue) AppendExemplars([]record.RefExemplar) bool { return true }

// AppendHistograms implements wlog.WriteTo.
func (*queue) AppendHistograms([]record.RefHistogramSample) bool { return true }

// AppendFloatHistograms implements wlog.WriteTo.
func (*queue) AppendFloatHistograms([]record.RefFloatHistogramSample) bool { return true }

// StoreMetadata implements wlog.WriteTo.
func (*queue) StoreMetadata([]record.RefMetadata) {}
