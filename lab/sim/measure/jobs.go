package measure

import (
	"fmt"
	"strconv"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// ranksASource is how many ranks one source reports: three series each.
const ranksASource = 2048

// teller is the report of a training job about itself: at each step's end, on the
// clock of its first host.
type teller struct {
	steps *source
	ranks []*source // ranksASource each
	each  int       // steps a report
	// since the last report
	count              int
	seconds, data, ckp float64
	tokens, mfu        float64
}

// stepColumns are what a job reports of a step.
func stepColumns(counted bool) []telemetry.Column {
	cols := []telemetry.Column{
		{Metric: "job_step_seconds", Type: telemetry.Decimal, Exp: 6},
		{Metric: "job_mfu_ratio", Type: telemetry.Decimal, Exp: 4},
		{Metric: "job_tokens_per_second", Type: telemetry.Uint},
		{Metric: "job_data_wait_seconds", Type: telemetry.Decimal, Exp: 6},
		{Metric: "job_checkpoint_seconds", Type: telemetry.Decimal, Exp: 6},
	}
	if counted {
		cols = append(cols, telemetry.Column{Metric: "job_step_count", Type: telemetry.Uint})
	}
	return cols
}

func rankColumns() []telemetry.Column {
	return []telemetry.Column{
		{Metric: "rank_compute_seconds", Type: telemetry.Decimal, Exp: 6},
		{Metric: "rank_comm_wait_seconds", Type: telemetry.Decimal, Exp: 6},
		{Metric: "rank_comm_transfer_seconds", Type: telemetry.Decimal, Exp: 6},
	}
}

// RankName returns the entity of a job's rank.
func RankName(job telemetry.Entity, rank int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("%s/%d", job.Name, rank)}
}

// addJobs adds what the jobs report about themselves.
func (m *Meter) addJobs() error {
	m.tellers = make([]teller, len(m.jobs))
	for i := range m.jobs {
		j := &m.jobs[i]
		if j.Entity.Kind != telemetry.Job || len(j.Ranks) == 0 {
			return fmt.Errorf("measure: job %d, %s: want a job with ranks", i, j.Entity)
		}
		if j.Serving {
			m.server(i)
			continue
		}
		if m.cfg.Collectives {
			m.collectives(i)
		}
		t := &m.tellers[i]
		t.each = max(1, j.Every)
		t.steps = m.addStepSource(i, "steps", stepColumns(t.each > 1), []telemetry.Entity{j.Entity})
		if !j.RankTimes || m.cfg.Instruments.NoRankTimes {
			continue
		}
		for lo := 0; lo < len(j.Ranks); lo += ranksASource {
			var es []telemetry.Entity
			for r := lo; r < min(lo+ranksASource, len(j.Ranks)); r++ {
				es = append(es, RankName(j.Entity, r))
			}
			t.ranks = append(t.ranks, m.addStepSource(i, "ranks"+strconv.Itoa(lo/ranksASource), rankColumns(), es))
		}
	}
	return nil
}

// process is a rank as NCCL has it.
type process struct {
	begun   uint32
	seconds float32
}

// collectives adds what NCCL knows of a job's ranks while it runs.
func (m *Meter) collectives(job int) {
	j := &m.jobs[job]
	for lo := 0; lo < len(j.Ranks); lo += ranksASource {
		t := &table[process]{view: func(st *state.State, i int32) process {
			return process{st.Jobs[job].Begun[i], st.Jobs[job].Collective[i]}
		},
			cols: []column[process]{
				{name: "rank_collectives_total", as: telemetry.Uint, how: level, of: func(p *process) float64 { return float64(p.begun) }},
				{name: "rank_collective_seconds", as: telemetry.Decimal, exp: 6, how: level, of: func(p *process) float64 { return float64(p.seconds) }},
			}}
		var es []telemetry.Entity
		for r := lo; r < min(lo+ranksASource, len(j.Ranks)); r++ {
			es = append(es, RankName(j.Entity, r))
			t.index = append(t.index, int32(r))
		}
		m.add(plan{source: telemetry.Source{Collector: "nccl", Target: j.Entity.Name, Part: "ranks" + strconv.Itoa(lo/ranksASource)}, entities: es, body: t,
			period: second, clock: &m.hosts[j.Ranks[0].Node], node: -1, sw: -1, server: job + 1, takes: prompt(), jitter: 0.01})
	}
}

// addStepSource adds a source that reports when a step ends, not by a cadence.
func (m *Meter) addStepSource(job int, part string, cols []telemetry.Column, es []telemetry.Entity) *source {
	j := &m.jobs[job]
	sc := &telemetry.Schema{Source: telemetry.Source{Collector: "trainer", Target: j.Entity.Name, Part: part}, Entities: es, Columns: cols}
	s := &source{schema: sc, print: sc.Fingerprint(), body: quiet{}, clock: &m.hosts[j.Ranks[0].Node], random: m.stream("source/" + sc.Source.String()),
		words: make([]uint64, sc.Len()), period: second, next: 1 << 62, node: -1, sw: -1, takes: [2]float64{0.02, 0.25}, incarnation: 1}
	if !m.cfg.Imperfect {
		s.takes = [2]float64{}
	}
	m.sources = append(m.sources, s)
	return s
}

// quiet is the body of a source that another hand fills.
type quiet struct{}

func (quiet) columns() []telemetry.Column { return nil }
func (quiet) vary(variation) bool         { return true }
func (quiet) begin(*random.Source, bool)  {}
func (quiet) read(*reading)               {}
func (quiet) pass(*state.State)           {}
func (quiet) reset(*state.State)          {}

// emitSteps emits the steps of a job that ended in the second. Steps of an evaluation
// are not steps of the training: the trainer does not report them.
func (m *Meter) emitSteps(job int, st *state.State, emit func(*telemetry.Record) error) error {
	t := &m.tellers[job]
	if t.steps == nil {
		return nil
	}
	for i := range st.Jobs[job].Steps {
		x := &st.Jobs[job].Steps[i]
		if x.Evaluates {
			continue
		}
		if err := m.step(t, x, telemetry.Duration(st.Second)*second, emit); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) step(t *teller, x *state.Step, now telemetry.Duration, emit func(*telemetry.Record) error) error {
	t.count++
	t.seconds, t.data, t.ckp = t.seconds+x.Seconds, t.data+x.DataWait, t.ckp+x.Checkpoint
	t.tokens, t.mfu = t.tokens+x.Tokens, t.mfu+x.MFU
	at := ofSeconds(x.End)
	if t.count >= t.each {
		n, w := float64(t.count), t.steps.words
		w[0], w[1], w[2] = wordOf(telemetry.Uint, float64(t.seconds/n*1e6)), wordOf(telemetry.Uint, float64(t.mfu/n*1e4)), wordOf(telemetry.Uint, t.tokens/max(t.seconds, 1e-9))
		w[3], w[4] = wordOf(telemetry.Uint, float64(t.data/n*1e6)), wordOf(telemetry.Uint, float64(t.ckp/n*1e6))
		if t.each > 1 {
			w[5] = uint64(t.count)
		}
		*t = teller{steps: t.steps, ranks: t.ranks, each: t.each}
		m.gaps = m.gaps[:0]
		if err := m.send(t.steps, at, now, emit); err != nil {
			return err
		}
	}
	for k, s := range t.ranks {
		if err := m.rankTimes(s, x, k*ranksASource, at, now, emit); err != nil {
			return err
		}
	}
	return nil
}

// rankTimes emits one source's part of the ranks' times.
func (m *Meter) rankTimes(s *source, x *state.Step, lo int, at, now telemetry.Duration, emit func(*telemetry.Record) error) error {
	n := len(s.schema.Entities)
	if len(x.Compute) < lo+n || len(x.Wait) < lo+n || len(x.Transfer) < lo+n {
		return nil
	}
	for i := range n {
		s.words[i] = wordOf(telemetry.Uint, float64(float64(x.Compute[lo+i])*1e6))
		s.words[n+i] = wordOf(telemetry.Uint, float64(float64(x.Wait[lo+i])*1e6))
		s.words[2*n+i] = wordOf(telemetry.Uint, float64(float64(x.Transfer[lo+i])*1e6))
	}
	m.gaps = m.gaps[:0]
	return m.send(s, at, now, emit)
}

// server adds what a serving job reports about itself each second.
func (m *Meter) server(job int) {
	j := &m.jobs[job]
	seconds := func(name telemetry.MetricName, of func(**state.Serving) float64) column[*state.Serving] {
		return column[*state.Serving]{name: name, as: telemetry.Decimal, exp: 6, how: mean, of: of}
	}
	t := &table[*state.Serving]{index: []int32{int32(job)}, view: func(st *state.State, i int32) *state.Serving { return &st.Jobs[i].Serving },
		cols: []column[*state.Serving]{
			seconds("job_ttft_seconds_p50", func(s **state.Serving) float64 { return (*s).TTFT50 }),
			seconds("job_ttft_seconds_p99", func(s **state.Serving) float64 { return (*s).TTFT99 }),
			seconds("job_itl_seconds_p50", func(s **state.Serving) float64 { return (*s).ITL50 }),
			seconds("job_itl_seconds_p99", func(s **state.Serving) float64 { return (*s).ITL99 }),
			{name: "job_queue_requests", as: telemetry.Uint, how: mean, of: func(s **state.Serving) float64 { return (*s).Queue }},
			{name: "job_kv_cache_ratio", as: telemetry.Decimal, exp: 3, how: mean, of: func(s **state.Serving) float64 { return (*s).Cache }},
			{name: "job_tokens_per_second", as: telemetry.Uint, how: mean, of: func(s **state.Serving) float64 { return (*s).Tokens }},
		}}
	m.add(plan{source: telemetry.Source{Collector: "serving", Target: j.Entity.Name, Part: "serving"}, entities: []telemetry.Entity{j.Entity}, body: t,
		period: second, clock: &m.hosts[j.Ranks[0].Node], node: -1, sw: -1, server: job + 1, takes: prompt(), jitter: 0.01})
}
