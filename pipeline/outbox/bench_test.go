package outbox

import (
	"context"
	"syscall"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// sink is a log that keeps nothing.
type sink struct{ sent chan struct{} }

func (sink) Message(collector string, encoded []byte) (bus.Message, error) {
	return bus.Message{Subject: collector, Data: encoded}, nil
}

func (s sink) Send(_ context.Context, ms []bus.Message) (int, error) {
	select {
	case s.sent <- struct{}{}:
	default:
	}
	return len(ms), nil
}

// frames are records of a host's 800 series, as a feed makes them: counters of
// which a quarter rises.
func frames(t testing.TB, n int) (schema *telemetry.Record, records []*telemetry.Record) {
	s := schemaOf(1, 800)
	f, err := collectors.NewFeed(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uint64, s.Len())
	for k := range n {
		for i := range words {
			if (i+k)%4 == 0 {
				words[i] += uint64(i * k % 50000)
			}
		}
		r, err := f.Frame(telemetry.Instant{Source: telemetry.Time(k+1) * 1e9}, words, nil)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return f.Schema(), records
}

func processor(t testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkEmit is one frame of 798 samples, emitted and sent without trouble:
// all processor time of the process, encoding of the frame not included.
func BenchmarkEmit(b *testing.B) {
	schema, records := frames(b, 256)
	log := sink{make(chan struct{}, 1)}
	o, err := New(Config{Collector: "h1", Bus: log})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	o.Emit(schema)
	b.ReportAllocs()
	b.ResetTimer()
	before := processor(b)
	for i := range b.N {
		for o.account.memory.Load() > 2<<20 { // no faster than it is sent
			<-log.sent
		}
		o.Emit(records[i%len(records)])
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/frame")
	size := 0
	for _, r := range records {
		size += len(r.Frame)
	}
	b.ReportMetric(float64(size)/float64(len(records)), "bytes/frame")
	if n := removedOf(o, "samples"); n > 0 {
		b.Fatalf("%d samples removed", n)
	}
}

// Emitting does not allocate beyond the record itself.
func TestEmittingDoesNotAllocate(t *testing.T) {
	schema, records := frames(t, 64)
	o, err := New(Config{Collector: "h1", Bus: sink{}, MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	o.Emit(schema)
	i := 0
	emit := func() {
		o.Emit(records[i%len(records)])
		i++
		o.mu.Lock()
		o.queue.take(func(thin.Entry) bool { return true })
		o.mu.Unlock()
	}
	if n := testing.AllocsPerRun(500, emit); n > 0.1 {
		t.Errorf("%v allocations a frame", n)
	}
}
