package whatif_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/replay/whatif"
)

// TestPublished holds the analysis against the published figures of two real
// jobs (ByteDance-Seed/StragglerAnalysis; provenance beside the files): one with
// a slow worker added on purpose, one with sequences of uneven length.
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		trial   string
		verdict whatif.Verdict
	}{{"AR", whatif.SlowWorker}, {"SE", whatif.SequenceLengths}} {
		t.Run(c.trial, func(t *testing.T) {
			dir := "../../../shared/fixtures/straggler"
			f, err := os.Open(filepath.Join(dir, "timeline-"+c.trial+".json.gz"))
			if err != nil {
				t.Skip("the published timelines are not beside this checkout")
			}
			defer f.Close()
			r := analyse(t, f)
			var want struct {
				Slowdown float64            `json:"blocking_slowdown"`
				Stages   map[string]float64 `json:"blocking_decompose_by_stage"`
				Ranks    map[string]float64 `json:"blocking_decompose_by_dp_rank"`
			}
			published(t, filepath.Join(dir, "result-"+c.trial+".json"), &want)
			if !near(r.Slowdown, want.Slowdown, 0.01*want.Slowdown) {
				t.Errorf("slowdown %.4f, published %.4f", r.Slowdown, want.Slowdown)
			}
			for _, s := range r.Stages {
				if w := want.Stages[fmt.Sprint(s.Rank)]; !near(s.Slowdown, w, 0.01*w) {
					t.Errorf("stage %d: %.4f, published %.4f", s.Rank, s.Slowdown, w)
				}
			}
			for _, s := range r.Ranks {
				if w := want.Ranks[fmt.Sprint(s.Rank)]; !near(s.Slowdown, w, 0.02*w) {
					t.Errorf("data-parallel rank %d: %.4f, published %.4f", s.Rank, s.Slowdown, w)
				}
			}
			var mw struct{ Mw float64 }
			var ms struct{ Ms float64 }
			published(t, filepath.Join(dir, "mw-"+c.trial+".json"), &mw)
			published(t, filepath.Join(dir, "ms-"+c.trial+".json"), &ms)
			if !near(r.WorstWorkers, mw.Mw, 0.01) || !near(r.LastStage, ms.Ms, 0.01) {
				t.Errorf("M_W %.3f, M_S %.3f; published %.3f, %.3f", r.WorstWorkers, r.LastStage, mw.Mw, ms.Ms)
			}
			if r.Verdict != c.verdict {
				t.Errorf("verdict %s (%s), want %s", r.Verdict, r.Why, c.verdict)
			}
		})
	}
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

func published(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// pipeline is a small job: what one microbatch takes forwards at a worker, and
// what a collector pause takes. Backwards takes twice as long.
type pipeline struct {
	dp, pp, batches, steps int
	forward                func(dp, pp, batch, step int) float64
	pause                  func(dp, pp, step int) float64
}

func even() pipeline {
	return pipeline{4, 4, 8, 3, func(int, int, int, int) float64 { return 0.2 }, func(int, int, int) float64 { return 0 }}
}

// write writes the job as trace events. Their starts only order them.
func (p pipeline) write() []byte {
	w := events{}
	for dp := range p.dp {
		for pp := range p.pp {
			for kind, name := range []string{"compute", "pp-comm", "dp-comm"} {
				w.add(`{"name":"thread_name","ph":"M","pid":%d,"tid":%d,"args":{"name":"PP rank %d, TP rank 0, %s"}}`, dp, pp*10+kind, pp, name)
			}
			for step := range p.steps {
				p.worker(&w, dp, pp, step)
			}
		}
	}
	return []byte("[" + strings.Join(w, ",\n") + "]")
}

type events []string

func (w *events) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func (p pipeline) worker(w *events, dp, pp, step int) {
	at := 0.0
	op := func(kind, name string, n int, length float64) {
		tid := pp*10 + map[string]int{"compute": 0, "pp": 1, "dp": 2}[kind]
		w.add(`{"name":%q,"ph":"X","pid":%d,"tid":%d,"ts":%g,"dur":%g,"args":{"step":%d,"model_chunk":0,"mb_id":null,"seq_id":%d}}`, name, dp, tid, at, length*1e6, step, n)
		at++
	}
	batch := func(kind string, n int) {
		length := p.forward(dp, pp, n, step)
		if kind == "backward" {
			length *= 2
		}
		op("compute", kind+"-compute", n, length)
	}
	op("dp", "params-all-gather", 0, 0.1)
	ahead := p.pp - pp // forward passes before the first backward pass
	for n := range p.batches + ahead - 1 {
		if n < p.batches {
			batch("forward", n)
		}
		if back := n - ahead + 1; back >= 0 {
			batch("backward", back)
		}
	}
	for n := range p.batches {
		if pp > 0 {
			op("pp", "forward-recv", n, 0.001)
			op("pp", "backward-send", n, 0.001)
		}
		if pp < p.pp-1 {
			op("pp", "forward-send", n, 0.001)
			op("pp", "backward-recv", n, 0.001)
		}
	}
	op("compute", "gc", 0, p.pause(dp, pp, step))
	op("dp", "grads-reduce-scatter", 0, 0.2)
	op("dp", "optimizer-clip-main-grad", 0, 0.01)
	op("compute", "optimizer", 0, 0.02)
}

// TestClosedForm: an even pipeline takes (m+p−1) microbatches of forward and
// backward, and the transfers on the way down and up.
func TestClosedForm(t *testing.T) {
	p := even()
	r := analyse(t, bytes.NewReader(p.write()))
	batches := float64(p.batches + p.pp - 1)
	want := 0.1 + batches*0.6 + 0.2 + 0.01 + 0.02
	if r.Verdict != whatif.Healthy || !near(r.Slowdown, 1, 1e-9) || r.Seconds < want || r.Seconds > want+0.001*2*batches*2 {
		t.Errorf("%s, slowdown %v, step %.4f s, want %.4f and transfers", r.Verdict, r.Slowdown, r.Seconds, want)
	}
}

// TestVerdicts: each way to be late has its name.
func TestVerdicts(t *testing.T) {
	long := func(dp, batch, step int) float64 { // a length that only the sequence has
		return 0.1 + 0.3*float64((dp*7+batch*5+step*3)%11)/10
	}
	for name, c := range map[string]struct {
		change func(p *pipeline)
		want   whatif.Verdict
	}{
		"worker": {func(p *pipeline) {
			p.forward = func(dp, pp, _, _ int) float64 {
				if dp == 2 && pp == 1 {
					return 0.4
				}
				return 0.2
			}
		}, whatif.SlowWorker},
		"last stage": {func(p *pipeline) {
			p.forward = func(_, pp, _, _ int) float64 {
				if pp == 3 {
					return 0.4
				}
				return 0.2
			}
		}, whatif.StageImbalance},
		"sequences": {func(p *pipeline) {
			p.forward = func(dp, _, batch, step int) float64 { return long(dp, batch, step) }
		}, whatif.SequenceLengths},
		"collector": {func(p *pipeline) {
			p.pause = func(dp, pp, step int) float64 {
				if (dp+pp+step)%5 == 0 {
					return 2
				}
				return 0
			}
		}, whatif.CollectorPauses},
	} {
		t.Run(name, func(t *testing.T) {
			p := even()
			c.change(&p)
			r := analyse(t, bytes.NewReader(p.write()))
			if r.Verdict != c.want {
				t.Errorf("%s (%s), want %s", r.Verdict, r.Why, c.want)
			}
			if c.want == whatif.SlowWorker && (r.Workers[0].DP != 2 || r.Workers[0].PP != 1) {
				t.Errorf("worst worker %+v, want rank 2 at stage 1", r.Workers[0])
			}
		})
	}
}

// TestScale: everything twice as long changes no ratio.
func TestScale(t *testing.T) {
	p := even()
	p.forward = func(dp, pp, batch, step int) float64 { return 0.1 + 0.01*float64((dp+2*pp+3*batch+step)%7) }
	a := analyse(t, bytes.NewReader(p.write()))
	b := analyse(t, strings.NewReader(doubled(t, p.write())))
	if !near(b.Seconds, 2*a.Seconds, 1e-9) || !near(a.Slowdown, b.Slowdown, 1e-9) || a.Verdict != b.Verdict {
		t.Errorf("%v s, slowdown %v, %s; doubled %v s, %v, %s", a.Seconds, a.Slowdown, a.Verdict, b.Seconds, b.Slowdown, b.Verdict)
	}
}

func doubled(t *testing.T, b []byte) string {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if d, ok := e["dur"].(float64); ok {
			e["dur"] = 2 * d
		}
	}
	out, err := json.Marshal(map[string]any{"displayTimeUnit": "ms", "traceEvents": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func analyse(t *testing.T, r interface{ Read([]byte) (int, error) }) *whatif.Report {
	t.Helper()
	tl, err := whatif.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	report, err := whatif.Analyse(tl)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestRefused: what cannot be analysed is refused by name.
func TestRefused(t *testing.T) {
	good := string(even().write())
	for name, c := range map[string]struct{ in, want string }{
		"empty":       {"", "EOF"},
		"no array":    {`"x"`, "want an array"},
		"no events":   {`{"a":1}`, "without traceEvents"},
		"nothing":     {`[]`, "no operations"},
		"unknown":     {strings.Replace(good, `"gc"`, `"nap"`, 1), `operation "nap" is not known`},
		"missing":     {strings.Replace(good, `"name":"gc","ph":"X","pid":1`, `"name":"gc","ph":"M","pid":1`, 1), "is missing"},
		"no name":     {strings.ReplaceAll(good, "thread_name", "thread_nick"), "has no thread_name"},
		"twice":       {strings.Replace(good, `"name":"gc","ph":"X","pid":0,"tid":0,`, `"name":"optimizer","ph":"X","pid":0,"tid":0,`, 1), "twice"},
		"negative":    {strings.Replace(good, `"dur":200000`, `"dur":-200000`, 1), "dur -200000"},
		"interleaved": {strings.Replace(good, `"model_chunk":0`, `"model_chunk":1`, 1), "interleaved"},
		"not gzip":    {"\x1f\x8bxxxxxxxxxxxx", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := whatif.Read(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	p := even()
	p.dp, p.pp, p.batches, p.steps = 1, 2, 2, 1
	f.Add(p.write())
	f.Add([]byte(`{"traceEvents":[{"ph":"M"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tl, err := whatif.Read(bytes.NewReader(b)); err == nil {
			if r, err := whatif.Analyse(tl); err == nil && math.IsNaN(r.Slowdown) {
				t.Errorf("slowdown is no number")
			}
		}
	})
}
