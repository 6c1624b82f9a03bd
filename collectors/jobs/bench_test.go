package jobs

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// nowhere is a sink that keeps nothing.
type nowhere struct{}

func (nowhere) Emit(*telemetry.Record) {}

// Logger implements collectors.Sink.
func (nowhere) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (nowhere) Swept(collectors.Sweep) {}

// BenchmarkSlurm reads the list of a cluster with 10,000 jobs, of which 200 run
// on GPUs, each job 4 kB as slurmrestd writes it.
func BenchmarkSlurm(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"jobs":[`)
	padding := strings.Repeat("x", 3800)
	for i := range 10000 {
		if i > 0 {
			text.WriteByte(',')
		}
		state, gres := "PENDING", ""
		if i%50 == 0 {
			state, gres = "RUNNING", `,"gres_detail":["gpu:8(IDX:0-7)","gpu:8(IDX:0-7)"]`
		}
		fmt.Fprintf(&text, `{"job_id":%d,"name":"j","comment":%q,"job_state":[%q],"nodes":"n[%d-%d]","start_time":{"set":true,"number":1999999999}%s}`, i+1, padding, state, i, i+1, gres)
	}
	text.WriteString(`]}`)
	body := []byte(text.String())
	s := newSlurm(Config{Type: typeSlurm, Name: "s"}.withDefaults(), nil, "")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := newReport(nowhere{}, time.Unix(2000000000, 0))
		if err := s.readJobs(bytes.NewReader(body), r); err != nil {
			b.Fatal(err)
		}
		s.jobs.finish(r)
		if err := s.sizes.emit(r, s.jobs); err != nil || len(s.jobs.known) != 200 {
			b.Fatal(err, len(s.jobs.known))
		}
	}
}

// BenchmarkLine goes from a line of Megatron-LM to the frame.
func BenchmarkLine(b *testing.B) {
	j := newLogJob(Config{Name: "n", Devices: 8, Peak: 989}, telemetry.Entity{Kind: telemetry.Job, Name: "x"})
	now := time.Now()
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		now = now.Add(time.Second)
		line := fmt.Appendf(nil, " [%s] iteration %d/ 25000000 | consumed samples: 4096 | elapsed time per iteration (ms): 270.4 | throughput per GPU (TFLOP/s/GPU): 449.6 | learning rate: 7.5E-08 | global batch size:  1024 | lm loss: 2.12E+00 |", now.UTC().Format("2006-01-02 15:04:05.000000"), i)
		l, ok := readLine(line, time.UTC)
		if !ok {
			b.Fatal("no line")
		}
		if err := j.take(newReport(nowhere{}, now), &l, false); err != nil {
			b.Fatal(err)
		}
	}
}
