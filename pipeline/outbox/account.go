package outbox

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// reason is why a record never reached the log.
type reason string

const (
	byThinning reason = "thinned" // other samples of its series are kept in its place
	byFullness reason = "full"    // there was no room, even thinned
	bySize     reason = "size"    // larger than the outbox carries
	byForm     reason = "invalid" // no record at all
	byLog      reason = "refused" // the log will never take it
	byEnd      reason = "end"     // the process ended and nothing kept it
)

// lossReasons lists, by name, the reasons for which there is no other counter.
func lossReasons() []reason { return []reason{byEnd, byFullness, byForm, byLog, bySize} }

// metric is the counter of what was lost for a reason.
func (r reason) metric() telemetry.MetricName {
	return telemetry.MetricName("collector_lost_" + string(r) + "_total")
}

// account counts what happens, for the process's metrics and for the outbox's
// own samples.
type account struct {
	set *metrics.Set

	emitted, stored, failures, diskErrors, damaged *metrics.Counter
	renewedSchemas, renewedEdges, notRenewed       *metrics.Counter
	unknownSchema                                  *metrics.Counter

	// For the outbox's own samples.
	thinned, events, frames atomic.Uint64
	lost                    []atomic.Uint64 // by place in lossReasons
	memory, spilled         atomic.Int64    // bytes stored
}

func newAccount(set *metrics.Set) *account {
	if set == nil {
		set = metrics.NewSet()
	}
	a := &account{set: set, lost: make([]atomic.Uint64, len(lossReasons())),
		emitted:        set.GetOrCreateCounter("quintet_outbox_emitted_records_total"),
		stored:         set.GetOrCreateCounter("quintet_outbox_stored_records_total"),
		failures:       set.GetOrCreateCounter("quintet_outbox_send_failures_total"),
		diskErrors:     set.GetOrCreateCounter("quintet_outbox_disk_errors_total"),
		damaged:        set.GetOrCreateCounter("quintet_outbox_damaged_bytes_total"),
		renewedSchemas: set.GetOrCreateCounter(`quintet_outbox_renewed_records_total{kind="schema"}`),
		renewedEdges:   set.GetOrCreateCounter(`quintet_outbox_renewed_records_total{kind="edge"}`),
		notRenewed:     set.GetOrCreateCounter("quintet_outbox_renewals_refused_total"),
		unknownSchema:  set.GetOrCreateCounter("quintet_outbox_frames_without_schema_total"),
	}
	set.GetOrCreateGauge("quintet_outbox_memory_bytes", func() float64 { return float64(a.memory.Load()) })
	set.GetOrCreateGauge("quintet_outbox_spilled_bytes", func() float64 { return float64(a.spilled.Load()) })
	return a
}

// remove counts what never reaches the log.
func (a *account) remove(why reason, gone thin.Removal) {
	for _, c := range [...]struct {
		what string
		n    uint64
	}{{"samples", gone.Samples}, {"gaps", gone.Gaps}, {"frames", gone.Frames}, {"events", gone.Events}, {"records", gone.Others}} {
		if c.n > 0 {
			a.set.GetOrCreateCounter(fmt.Sprintf("quintet_outbox_removed_%s_total{reason=%q}", c.what, why)).AddInt64(int64(c.n))
		}
	}
	a.events.Add(gone.Events)
	if why == byThinning { // what is merged is not lost: others stand for it
		a.thinned.Add(gone.Samples)
		return
	}
	a.frames.Add(gone.Frames)
	a.lost[slices.Index(lossReasons(), why)].Add(gone.Samples + gone.Events + gone.Others)
}

// passed counts the removals of a pass of thinning.
func (a *account) passed(gone thin.Result) {
	a.remove(byThinning, gone.Merged)
	a.remove(byFullness, gone.Dropped)
}

// crowdedOut is how many samples were removed for want of room.
func (a *account) crowdedOut() uint64 {
	return a.thinned.Load() + a.lost[slices.Index(lossReasons(), byFullness)].Load()
}

// The outbox's own metrics, as samples of collector:<process>, in addition to a
// counter for each of lossReasons. They are counters over the life of this process,
// except the spilled bytes, a gauge.
const (
	metricThinnedSamples telemetry.MetricName = "collector_thinned_samples_total"
	metricDroppedEvents  telemetry.MetricName = "collector_dropped_events_total"
	metricDroppedFrames  telemetry.MetricName = "collector_dropped_frames_total"
	metricSpilledBytes   telemetry.MetricName = "collector_spilled_bytes"
)

// reportEvery is the cadence of the outbox's own samples.
const reportEvery = 10 * time.Second

// report is the source of the outbox's own samples.
type report struct {
	schema  *telemetry.Schema
	frame   telemetry.Frame
	encoder telemetry.Encoder
}

func newReport(collector string, incarnation uint64) (*report, error) {
	entity, err := telemetry.ParseEntity("collector:" + collector)
	if err != nil {
		return nil, err
	}
	s := &telemetry.Schema{
		Source: telemetry.Source{Collector: "outbox", Target: collector}, Class: telemetry.Prompt, Cadence: reportEvery,
		Entities: []telemetry.Entity{entity},
		Columns: []telemetry.Column{
			{Metric: metricThinnedSamples, Type: telemetry.Uint},
			{Metric: metricDroppedEvents, Type: telemetry.Uint},
			{Metric: metricDroppedFrames, Type: telemetry.Uint},
			{Metric: metricSpilledBytes, Type: telemetry.Uint},
		},
	}
	for _, why := range lossReasons() {
		s.Columns = append(s.Columns, telemetry.Column{Metric: why.metric(), Type: telemetry.Uint})
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &report{schema: s, frame: telemetry.Frame{Incarnation: incarnation, ByReceived: true}}, nil
}

// next returns the record of one instant.
func (r *report) next(at telemetry.Time, a *account) (*telemetry.Record, error) {
	r.frame.Sequence++
	r.frame.Instants = append(r.frame.Instants[:0], telemetry.Instant{Received: at})
	r.frame.Words = append(r.frame.Words[:0], a.thinned.Load(), a.events.Load(), a.frames.Load(), uint64(max(0, a.spilled.Load())))
	for i := range a.lost {
		r.frame.Words = append(r.frame.Words, a.lost[i].Load())
	}
	b, err := r.encoder.AppendFrame(nil, r.schema, &r.frame)
	if err != nil {
		return nil, err
	}
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}, nil
}
