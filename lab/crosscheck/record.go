package crosscheck

import "math"

// Sample is a number of one entity's metric at an instant, in nanoseconds since
// 1970. Received is 0 where the site does not record it.
type Sample struct {
	Time, Received int64
	Entity, Metric string
	Value          float64
}

// Event is something that happened at an instant.
type Event struct {
	Time               int64
	Entity, Name, Text string
}

// clock is that of a source.
type clock struct{ skew, delay float64 }

// recorder reads a world's devices, each by its own clock.
type recorder struct {
	profile       profile
	plan          *plan
	dice          dice
	samples       []Sample
	events        []Event
	meters        []meter
	busy          []int // ports with traffic
	tickling      []float64
	framesASecond float64
	clocks        map[string]*clock
	lastGPU       [][6]float64 // instant and integrals at the reading before
	lastJob       []int
}

func newRecorder(p *plan) *recorder {
	d := newDice(p.seed, 31)
	r := &recorder{profile: p.profile, plan: p, dice: d, clocks: map[string]*clock{}, framesASecond: d.geometric(8e3, 6e4)}
	r.tickling = make([]float64, len(p.site.ports))
	for port, rate := range p.tickling {
		r.tickling[port] = rate
	}
	return r
}

// instants draws when a device is read.
func (r *recorder) instants(every float64) []float64 {
	var out []float64
	d := r.dice
	noData := -1.0
	if d.chance(.01) {
		noData = d.between(0, r.plan.length)
	}
	for t := d.between(0, every); t < r.plan.length; t += every {
		if d.chance(r.profile.miss) || t > noData && t < noData+5*every && noData >= 0 {
			continue
		}
		out = append(out, max(0, t+every*.03*d.NormFloat64()))
	}
	return out
}

// begin lays out the readings of all devices.
func (r *recorder) begin(w *world) {
	s, d := w.site, r.dice
	r.meters = make([]meter, len(s.ports))
	for p := range r.meters {
		m := &r.meters[p]
		m.up, m.last, m.rate = true, map[string]float64{}, r.background(p)
		m.count[sent], m.count[received] = d.between(1e12, 9e14), d.between(1e12, 9e14)
		m.count[marked], m.count[ceReceived], m.count[cnpSent], m.count[cnpHandled] = d.between(0, 1e7), d.between(0, 1e6), d.between(0, 1e6), d.between(0, 1e6)
		m.count[waited], m.count[pausing] = d.between(0, 500), d.between(0, 500)
		m.count[damaged], m.count[downs] = math.Floor(d.between(0, 3)*d.Float64()), math.Floor(d.between(0, 2.5))
	}
	r.lastGPU = make([][6]float64, len(w.gpus))
	for n := range s.nodes {
		gpu, nic := r.instants(r.profile.gpuEvery), r.instants(r.profile.nicEvery)
		for g := range gpusPerNode {
			w.gpus[n*gpusPerNode+g].readings = gpu
		}
		for _, p := range s.nics[n] {
			r.meters[p].readings = nic
		}
		for _, at := range r.instants(r.profile.boardEvery) {
			w.agenda.add(at, func() { r.readBoard(w, n) })
		}
	}
	for _, dev := range s.switches {
		at := r.instants(r.profile.switchEvery)
		for _, p := range dev.ports {
			r.meters[p].readings = at
		}
	}
	r.beginPlant(w)
	r.lastJob = make([]int, len(w.jobs))
}

// catchUp brings all ports to now.
func (r *recorder) catchUp(w *world) {
	for p := range r.meters {
		r.pass(w, p, w.now)
	}
}

// clockOf returns the clock of a source, drawing it on first use.
func (r *recorder) clockOf(name string) *clock {
	c := r.clocks[name]
	if c == nil {
		h := uint64(17)
		for _, b := range []byte(name) {
			h = mix(h ^ uint64(b))
		}
		c = &clock{skew: .07 * normal(r.plan.seed, h, 1), delay: .05 + .5*uniform(r.plan.seed, h, 2)}
		c.skew = max(-.2, min(.2, c.skew))
		r.clocks[name] = c
	}
	return c
}

func (r *recorder) portClock(p *port) *clock {
	if p.nic {
		return r.clockOf(r.plan.site.nodes[p.node])
	}
	return r.clockOf(r.plan.site.switches[p.sw].entity)
}

// send records a sample.
func (r *recorder) send(c *clock, at float64, entity, metric string, v float64) {
	s := Sample{Time: r.plan.nanos(at + c.skew), Entity: entity, Metric: metric, Value: v}
	if r.profile.received {
		s.Received = r.plan.nanos(at + c.delay)
	}
	r.samples = append(r.samples, s)
}

// event records an event.
func (r *recorder) event(at float64, entity, name, text string) {
	r.events = append(r.events, Event{r.plan.nanos(at), entity, name, text})
}

// readGPU sends what an exporter shows of a GPU.
func (r *recorder) readGPU(w *world, g *gpu) {
	pr, e, n := &r.profile, w.site.gpuEntity(g.index), g.index/gpusPerNode
	if w.cond.broken[g.index] {
		return // fallen off the bus
	}
	c := r.clockOf(w.site.nodes[n])
	send := func(metric string, v float64) { r.send(c, g.at, e, metric, v) }
	last := r.lastGPU[g.index]
	dt := max(g.at-last[0], 1e-3)
	mean := func(sum float64, i int) float64 { return math.Round((sum-last[i])/dt*1000) / 1000 }
	send("gpu_engine_active_ratio", min(1, mean(g.engine, 1)))
	if pr.sm {
		send("gpu_sm_active_ratio", mean(g.sm, 2))
	}
	if pr.tensor {
		send("gpu_tensor_active_ratio", mean(g.tensor, 3))
	}
	watts := g.watts
	if pr.averaged {
		watts = (g.joules - last[4]) / dt
	}
	k := uint64(g.at * 100)
	send("gpu_power_watts", math.Round(10*watts*(1+.01*normal(uint64(g.index), k, 1)))/10)
	send("gpu_temperature_celsius", math.Round(g.die+.4*normal(uint64(g.index), k, 2)))
	send("gpu_sm_clock_hertz", 15e6*math.Round(g.clock*nominalClock/15e6))
	if pr.reasons {
		send("gpu_clock_event_reasons", float64(g.reasons))
	}
	if pr.throttled {
		send("gpu_throttle_power_seconds_total", g.throttled[0])
		send("gpu_throttle_thermal_seconds_total", g.throttled[1])
		send("gpu_throttle_brake_seconds_total", g.throttled[2])
	}
	if pr.nvlink {
		send("nvlink_tx_bytes_total", math.Floor(g.nvlink))
		if g.index%gpusPerNode == 0 || w.cond.nvlink[g.index] < 1 {
			replays := 0.0
			if w.cond.nvlink[g.index] < 1 {
				replays = math.Floor((g.at - w.strike.onset) * 31)
			}
			send("nvlink_replay_errors_total", replays)
		}
	}
	if pr.limit && int(g.at/pr.gpuEvery)%8 == 0 || pr.limit && w.cond.limit[g.index] < tdp {
		send("gpu_power_limit_watts", w.cond.limit[g.index])
	}
	r.lastGPU[g.index] = [6]float64{g.at, g.engine, g.sm, g.tensor, g.joules, 0}
}

// report sends the steps of a job since its last report.
func (r *recorder) report(w *world, j *job) {
	steps := j.steps[r.lastJob[j.index]:]
	r.lastJob[j.index] = len(j.steps)
	sum := 0.0
	for _, s := range steps {
		sum += s.end - s.begin
	}
	n, pr := float64(len(steps)), &r.profile
	c := r.clockOf(j.spec.entity)
	send := func(metric string, v float64) { r.send(c, w.now, j.spec.entity, metric, v) }
	send("job_step_seconds", sum/n)
	if pr.counts && len(steps) > 1 {
		send("job_step_count", n)
	}
	rate := j.work * float64(j.parts) / (sum / n) * w.workOf(j)
	if pr.mfu {
		send("job_mfu_ratio", .52*rate)
	}
	if pr.tokens {
		send("job_tokens_per_second", math.Round(2900*rate*float64(len(j.spec.nodes)*gpusPerNode)))
	}
	if pr.dataWait {
		send("job_data_wait_seconds", j.dataWait)
	}
	if pr.saveTime && j.ckptTime > 0 {
		send("job_checkpoint_seconds", j.ckptTime)
	}
	j.ckptTime = 0
	r.reportRanks(w, j, n)
}

// reportRanks sends what each rank measured, where trainers do.
func (r *recorder) reportRanks(w *world, j *job, n float64) {
	for i := range j.ranks {
		t := &j.ranks[i]
		if r.profile.ranks {
			e := rankEntity(j.spec.entity, i)
			c := r.clockOf(w.site.nodes[j.spec.nodes[i/gpusPerNode]])
			r.send(c, w.now, e, "rank_compute_seconds", t.compute/n)
			r.send(c, w.now, e, "rank_comm_wait_seconds", t.wait/n)
			r.send(c, w.now, e, "rank_comm_transfer_seconds", t.transfer/n)
		}
		*t = rankTimes{}
	}
}

// answers sends how a serving job did.
func (r *recorder) answers(w *world, j *job, a answers) {
	c := r.clockOf(j.spec.entity)
	send := func(metric string, v float64) { r.send(c, w.now, j.spec.entity, metric, v) }
	send("job_ttft_seconds_p50", a.ttft)
	send("job_ttft_seconds_p99", a.ttftWorst)
	send("job_itl_seconds_p50", a.itl)
	send("job_itl_seconds_p99", a.itlWorst)
	send("job_queue_requests", math.Round(a.queue))
	send("job_kv_cache_ratio", math.Round(1000*a.cache)/1000)
}
