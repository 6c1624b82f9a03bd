package correlate

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/telemetry"
)

// examiner collects the evidence of cases: the state before a degradation, and the
// current state.
type examiner struct {
	*sight
	memory  *memory
	roll    *roll
	signals *signals
	usual   []usualState // baselines of jobs that report seldom, oldest first
	read    baselines    // of the grid at hand; not state
	// openCase returns the open case of a job.
	openCase func(job telemetry.Entity) (*incidentCase, bool)
}

// incidentCase is an incident with what is needed to judge it again: the state of
// everything before the degradation, frozen when it opened, because the window
// forgets it while the trouble lasts.
type incidentCase struct {
	job      telemetry.Entity
	incident explain.Incident // as of the last judgement
	// published is the last revision, against which the next is measured.
	published explain.Incident
	former    explain.Incident  // the one that it opened again, as it was resolved; none if it has no revision
	impact    explain.JobImpact // on this job, as of the last judgement
	// under is the job whose case carries this one's incident; zero if it
	// carries its own. strayed counts judgements that disagreed with it.
	under    telemetry.Entity
	diverged int
	naming   naming
	well     bool // the job is well again; the incident may not be
	failed   bool // in this degradation the job has failed; it may run again since
	// accepted is set where the job has recovered because what it does now is its
	// new usual.
	accepted bool
	// restored is set where the incident was explained by an engine that saw the
	// state before the degradation; this one did not, and only refreshes the cost.
	restored     bool
	since        telemetry.Time // the grid in which it was restored
	ending       string         // how it ended, where that was not seen; "" otherwise
	before       *fabric.Baseline
	dependencies *symptom.Baseline // of everything else the job depends on; nil once it has recovered
	hosts        []hostBefore      // in identity order of node
	saves        float64           // seconds of a usual checkpoint; 0 where none was seen
	reportedWork [2]middle         // tokens and utilisation times length of a step before the degradation; 0 where it reports none
	// nodes and others are where the job and its neighbours ran at any time
	// since the case was opened: who has left may still be the cause.
	nodes      []telemetry.Entity
	others     []explain.Other
	pinned     pinnedRoot        // the root on which the case is pinned
	concurrent *concurrentFault  // a second fault at the same time; nil where none is seen
	account    attribute.Account // what it has cost, until it is resolved
	remainder  attribute.Account // what neither its root nor a second one explains
	first      explain.First     // who failed or fell behind first, zero until that is known
	counted    fabric.Counted    // what ends of links counted since it began
	judged     telemetry.Time
	late       lateAnswers // of the present degradation
	// looked is when its cause was last searched for; judged is when that was done
	// or its cost was updated. alike is set where the last two searches agreed.
	looked   telemetry.Time
	alike    bool
	steps    uint64 // the job's steps when last judged
	resolved telemetry.Time
}

// hostBefore is how a node kept time before the degradation, in seconds.
type hostBefore struct {
	node   telemetry.Entity
	ranks  []rankBefore // in identity order
	nics   []nicBefore
	lag    fabric.Lag // by which it has fallen behind since, as last measured
	hasLag bool
}

// nicBefore is what part a nic, or a port of one, sent of what the job's median nic did.
type nicBefore struct {
	nic   telemetry.Entity
	share float64
}

// rankBefore is a rank's median compute time and own time before the degradation; zero
// where it does not state what it computes, or what it waits for the others.
type rankBefore struct {
	rank         telemetry.Entity
	compute, own float64
}

const (
	// baselineGrids is how many grids before a degradation the comparison reaches
	// back.
	baselineGrids = 96
	// beforeCompute is how many compute times before a degradation a rank is
	// compared with: a change older than that did not cause it.
	beforeCompute = 10
	// judgeEvery is the number of grids after which a case is judged again while no
	// new steps are received.
	judgeEvery = 5
)

// open freezes the state before a job's degradation.
func (e *examiner) open(j *jobs.Job, h *jobs.Degradation) *incidentCase {
	c := &incidentCase{job: j.Entity}
	onset := floor(h.Onset.Earliest, e.cfg.Grid)
	span := e.spanBefore(onset)
	c.saves, c.reportedWork = e.savesBefore(j.Entity, h), e.reportedWorkBefore(j.Entity, h.Onset.Earliest)
	if s, was := e.recalled(j.Entity, onset); s != nil {
		c.before, c.hosts, c.dependencies = s.before, slices.Clone(was.hosts), was.dependencies
		if s.until != 0 { // what the job reported since is of the degradation
			c.saves, c.reportedWork = was.saves, was.reportedWork
		}
		return c
	}
	c.before = e.fabricBefore(span)
	c.hosts = e.hostsBefore(j.Entity, h.Onset.Earliest)
	e.shares(c, span, h.Usual)
	if c.dependencies = e.beforeRisk(j.Entity, onset); c.dependencies == nil {
		e.keepSymptoms(c, span)
	}
	return c
}

// hostsBefore records how long the ranks on each of a job's hosts computed before.
func (e *sight) hostsBefore(job telemetry.Entity, until telemetry.Time) []hostBefore {
	var out []hostBefore
	for _, node := range e.nodes(job) {
		out = append(out, hostBefore{node: node})
	}
	steps := e.stepSeries(job, metricStep, math.MinInt64, until)
	for _, r := range e.graph.Ranks(job) {
		n, ok := e.graph.RankNode(r)
		at, known := slices.BinarySearchFunc(out, n, func(h hostBefore, n telemetry.Entity) int { return h.node.Compare(n) })
		if !ok || !known {
			continue
		}
		was := rankBefore{rank: r}
		was.compute, _ = e.perStep.Before(telemetry.Series{Entity: r, Metric: metricCompute}, until, beforeCompute)
		if own := e.ownTimes(&steps, r, math.MinInt64, until); len(own) > 0 {
			was.own = stats.Median(own[max(0, len(own)-beforeCompute):])
		}
		if was.compute > 0 || was.own > 0 {
			out[at].ranks = append(out[at].ranks, was)
		}
	}
	return out
}

// shares records which part of the job's traffic each nic sent before the
// degradation.
func (e *examiner) shares(c *incidentCase, span fabric.Span, step float64) {
	m := e.fabricMap()
	var ends, host []int
	for k, h := range c.hosts {
		for _, i := range m.Links(h.node) {
			ends, host = append(ends, i), append(host, k)
		}
	}
	for n, share := range m.Shares(e.window, e.cfg.Grid, fabric.Work{Span: span, Ends: ends, Step: step}) {
		h := &c.hosts[host[n]]
		h.nics = append(h.nics, nicBefore{m.Ends[ends[n]].Port, share})
	}
}

// lags measures by how much each of a case's hosts has fallen behind in a step of so many
// seconds. A NIC that is behind by more than that sends something else than the steps do.
// Once the grids before the onset have left the window, the last measurement is
// kept.
func (e *examiner) lags(c *incidentCase, s fabric.LagSpan, step float64, g telemetry.Time) {
	m := e.fabricMap()
	var peers fabric.Peers
	var host []int
	for k, h := range c.hosts {
		for _, n := range h.nics {
			if i, ok := m.Index(n.nic); ok {
				peers.Ends, peers.Shares, host = append(peers.Ends, i), append(peers.Shares, n.share), append(host, k)
				peers.Clocks = append(peers.Clocks, e.clockOf(n.nic))
			}
		}
	}
	if len(peers.Ends) == 0 {
		return
	}
	typical := stats.Median(slices.Clone(peers.Clocks))
	for n := range peers.Clocks {
		peers.Clocks[n] -= typical
	}
	grid := e.cfg.Grid
	s.From = max(s.Onset.Add(-baselineGrids*grid), e.oldest(g))
	lags, ok := m.Lags(e.window, grid, s, peers)
	if !ok {
		return
	}
	for k := range c.hosts {
		c.hosts[k].lag, c.hosts[k].hasLag = fabric.Lag{}, false
	}
	for n, k := range host {
		h := &c.hosts[k]
		if math.Abs(lags[n].Seconds) > step {
			continue
		}
		if !h.hasLag || lags[n].Surely() > h.lag.Surely() {
			h.lag, h.hasLag = lags[n], true
		}
	}
}

// clockOf is by how many seconds the clock of what reports a nic's bytes is behind
// the receivers'.
func (e *sight) clockOf(nic telemetry.Entity) float64 {
	slot, ok := e.window.Slot(telemetry.Series{Entity: nic, Metric: "port_tx_bytes_total"})
	if !ok {
		return 0
	}
	return float64(e.window.ClockOffset(slot)) / 1e9
}

// fabricMap returns the map of links, rebuilt when the topology or the series have
// changed.
func (e *sight) fabricMap() *fabric.Map {
	now := drawing{e.graph.Generation(), e.window.Slots()}
	if e.links == nil || e.drawn != now {
		e.links, e.drawn = fabric.Survey(e.graph, e.window), now
	}
	return e.links
}

// nodes lists the hosts a job runs on, in identity order.
func (e *sight) nodes(job telemetry.Entity) []telemetry.Entity {
	var out []telemetry.Entity
	for _, p := range e.graph.Placements(job) {
		if !p.Node.IsZero() {
			out = append(out, p.Node)
		}
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return slices.Compact(out)
}

// cost starts the evidence of a case: where its job runs and what the degradation
// costs it.
func (e *examiner) cost(c *incidentCase, j *jobs.Job, h *jobs.Degradation) *explain.Evidence {
	e.meet(c)
	ev := &explain.Evidence{Job: c.job, Nodes: c.nodes, Others: c.others, Degradation: h, Onset: e.onset, Fell: e.fell, ClockOff: e.clockOff,
		Measured: e.measured, SeriesOf: e.window.Series}
	ev.Events = func(of []telemetry.Entity) []explain.Related { return e.memory.eventsAt(of, h.Onset.Earliest) }
	ev.GPUs, ev.Progress = e.gpus(c.job, ev.Nodes), e.roll.comparedOf(c.job)
	if before, now, ok := j.MFU(); ok {
		ev.MFUBefore, ev.MFUNow = &before, &now
	}
	return ev
}

// gatherPart collects the evidence of a part of a case's degradation as if that were all of
// it, and changes nothing of the case.
func (e *examiner) gatherPart(c *incidentCase, j *jobs.Job, h *jobs.Degradation, g telemetry.Time) *explain.Evidence {
	of := *c
	of.hosts, of.others, of.late = slices.Clone(c.hosts), slices.Clone(c.others), nil
	return e.gather(&of, j, h, g)
}

// gather collects the evidence of a case as of grid g.
func (e *examiner) gather(c *incidentCase, j *jobs.Job, h *jobs.Degradation, g telemetry.Time) *explain.Evidence {
	ev := e.cost(c, j, h)
	ev.Late = func(a *explain.Answer) (float64, bool) { return e.late(c, ev, a), c.pinned.times < stableAfter }
	from := floor(h.Onset.Earliest, e.cfg.Grid)
	to := min(floor(h.End(g), e.cfg.Grid), g)
	from = max(from, e.oldest(g))
	if to <= from {
		to = from.Add(e.cfg.Grid)
	}
	ev.From, ev.To = h.Onset.Earliest.Add(-baselineGrids*e.cfg.Grid), to
	ev.Missing = e.memory.missing(ev.From, g)
	m := e.fabricMap()
	onPath := fabric.OnPath(m, ev.Nodes)
	if slices.Contains(onPath, true) {
		before := c.before.On(m)
		now := m.ReadEach(fabric.Recording{History: e.window, Grid: e.cfg.Grid, Before: before}, fabric.Span{From: from, To: to}, e.cfg.ForEach)
		c.counted.Fill(now)
		ev.Fabric = &explain.FabricEvidence{Now: now, Before: before, OnPath: onPath, Blame: fabric.Walk(now, before, ev.Nodes),
			Events: e.memory.ofLinks(h.Onset.Earliest.Add(-linkBefore), to.Add(e.cfg.Grid))}
	}
	e.neighbourRises(c, ev, g)
	for k := range c.others {
		c.others[k].Usual = e.usualLoad(c.others[k].Job, h.Onset.Earliest)
	}
	if read := e.symptoms(c, h, fabric.Span{From: from, To: to}); read != nil {
		ev.Symptoms = read
	}
	e.lags(c, fabric.LagSpan{Onset: from, To: to}, ev.Loss().Step, g)
	steps := e.stepSeries(c.job, metricStep, h.Begun(), h.End(g))
	for _, host := range c.hosts {
		ev.Hosts = append(ev.Hosts, e.hostNow(host, &steps, h, g))
	}
	ev.Ranks, ev.Saves, ev.Saving = e.ranksNow(c, h, g), e.savesNow(c, h), c.saves
	if read, ok := ev.Symptoms.(*symptom.Contrast); ok && len(ev.Ranks) == 0 {
		ev.Ranks = e.ranksBusy(c, h, read)
	}
	ev.ReportedWork, ev.ReportedErr = e.reportedWork(c, h, g)
	ev.First = e.keepFirst(c, h, g)
	e.suspect(ev)
	return ev
}

// neighbourRises finds when what the other jobs send rose. Once the grids before the onset have
// left the window, what was found last is kept.
func (e *examiner) neighbourRises(c *incidentCase, ev *explain.Evidence, g telemetry.Time) {
	if ev.Fabric == nil || ev.Degradation.Onset.Earliest.Add(-beforeRise*e.cfg.Grid) < e.oldest(g) {
		return
	}
	m, now, before := ev.Fabric.Now.Map, ev.Fabric.Now, ev.Fabric.Before
	for k := range c.others {
		o := &c.others[k]
		var ends []int
		for _, n := range o.Nodes {
			ends = append(ends, m.Links(n)...)
		}
		if len(ends) == 0 {
			continue
		}
		if fabric.Sent(now, before, o.Nodes, m.Ends[ends[0]].Speed) < explain.LeastRise {
			// What rose just now is little of the whole span, but not of its first half.
			o.Flat = ev.Degradation.Onset.Earliest + (ev.To-ev.Degradation.Onset.Earliest)/2
			continue
		}
		if at, ok := now.Rose(before, ends); ok {
			o.Rose = at
		}
	}
}

// beforeRise is how many grids before a degradation must be kept to see what rose with
// it.
const beforeRise = 10

// hostNow compares a node with its past, in the steps of the degradation; of its ranks
// the one that has fallen back most represents it.
func (e *examiner) hostNow(h hostBefore, steps *stepSeries, degradation *jobs.Degradation, g telemetry.Time) explain.HostEvidence {
	out := explain.HostEvidence{Node: h.node, Lag: h.lag, HasLag: h.hasLag}
	from, to := degradation.Begun(), degradation.End(g)
	for _, r := range h.ranks {
		now, n := e.perStep.Median(telemetry.Series{Entity: r.rank, Metric: metricCompute}, from, to)
		if n > 0 && r.compute > 0 && (!out.HasCompute || now-r.compute > out.ComputeNow-out.ComputeBefore) {
			out.Rank, out.HasCompute, out.ComputeNow, out.ComputeBefore = r.rank, true, now, r.compute
		}
		if own := e.ownTimes(steps, r.rank, from, to); len(own) > 0 && r.own > 0 {
			if by := stats.Median(own) - r.own; !out.HasLate || by > out.Late {
				out.HasLate, out.Late = true, by
			}
		}
	}
	if out.HasCompute {
		out.Wander, out.HasWander = e.wander(h, degradation, g)
	}
	return out
}

// meet adds to a case where its job and the others run now.
func (e *examiner) meet(c *incidentCase) {
	c.nodes = union(c.nodes, e.nodes(c.job))
	for _, t := range e.roll.running {
		if t.job == c.job {
			continue
		}
		i, ok := slices.BinarySearchFunc(c.others, t.job, func(o explain.Other, job telemetry.Entity) int { return o.Job.Compare(job) })
		if !ok {
			c.others = slices.Insert(c.others, i, explain.Other{Job: t.job, Since: t.since})
		}
		c.others[i].Nodes = union(c.others[i].Nodes, e.nodes(t.job))
	}
}

// union merges two lists in identity order.
func union(a, b []telemetry.Entity) []telemetry.Entity {
	out := slices.Concat(a, b)
	slices.SortFunc(out, telemetry.Entity.Compare)
	return slices.Compact(out)
}

// gpus counts a job's GPUs: those stated, else one to a rank, else one to a
// node.
func (e *sight) gpus(job telemetry.Entity, nodes []telemetry.Entity) int {
	return max(len(e.gpusOf(job)), len(e.graph.Ranks(job)), len(nodes), 1)
}

// receivingGrids is the number of grids within which an end must have reported to count
// as receiving; a lost sample or two does not make it stale.
const receivingGrids = 5

// carriedSteps is how many usual steps back a job's nics are looked at that still
// carry something.
const carriedSteps = 2

// working reports whether a job whose steps are overdue works all the same: its
// GPUs compute, its nics have carried clearly more than one step's bytes since the
// last step that it reported, or there is no data of them at all. Then only its
// reports are missing, or it evaluates. until is the instant up to which it is
// known to have worked; zero where there is no data.
func (e *activity) working(j *jobs.Job, g telemetry.Time) (until telemetry.Time, ok bool) {
	usual, known := j.Usual()
	m := e.fabricMap()
	last := floor(j.LastEnd, e.cfg.Grid)
	if !known || g <= last {
		return 0, false
	}
	if e.computing(j, g) {
		return g.Add(-computeGrids * e.cfg.Grid), true
	}
	var since, before float64
	var seen []int
	ends := 0
	now := fabric.Span{From: last, To: g}
	then := e.upTo(last, g, baselineGrids)
	for _, node := range e.nodes(j.Entity) {
		for _, i := range m.Links(node) {
			b, okB := m.Sent(e.window, e.cfg.Grid, then, i)
			if okB && b <= float64(leastCarried*m.Ends[i].Speed) {
				continue // no step needs it
			}
			ends++
			// What one that is stale, with its host, sent before that is no mean of
			// the step; but one whose link is down is known to send nothing.
			_, ok := m.Sent(e.window, e.cfg.Grid, e.receiving(m.SentBy(i), g), i)
			a, okA := m.Sent(e.window, e.cfg.Grid, now, i)
			if _, down := e.linkSampled(m, i, m.Ends[i].Peer); down {
				a, ok, okA = 0, true, true
			}
			if ok && okA && okB {
				seen = append(seen, i)
				since += a
				before += b
			}
		}
	}
	switch {
	case ends == 0:
		return 0, false // no fabric is known, or none is used: the steps are the only evidence
	case len(seen) == 0:
		return 0, true // blind, not stalled
	}
	recent := fabric.Span{From: g.Add(-max(receivingGrids*e.cfg.Grid, telemetry.Duration(carriedSteps*usual*1e9))), To: g}
	until = e.lastSent(seen, recent, float64(restSent*before))
	// Bytes per second before, times the usual step, are a step's bytes.
	age := float64(g-last) / 1e9
	return until, until > 0 && since*age > before*usual*1.7
}

// receiving is the span up to g in which a slot that is not stale has a sample.
func (e *activity) receiving(slot int, g telemetry.Time) fabric.Span {
	last := receivingGrids * e.cfg.Grid
	if slot >= 0 {
		last = max(last, e.freshFor(slot))
	}
	return fabric.Span{From: g.Add(-last), To: g}
}

// lastSent is the last instant of a span at which links carried at least so many
// bytes a second together; 0 where at none they did. Links whose mean over the span
// is lower are not examined: they carry no steps.
func (e *activity) lastSent(links []int, s fabric.Span, least float64) telemetry.Time {
	sent := func(s fabric.Span) float64 {
		sum := 0.0
		for _, i := range links {
			x, _ := e.fabricMap().Sent(e.window, e.cfg.Grid, s, i)
			sum += x
		}
		return sum
	}
	if least <= 0 || sent(s) < least {
		return 0
	}
	for at := s.To; at > s.From; at = at.Add(-e.cfg.Grid) {
		if sent(fabric.Span{From: at.Add(-e.cfg.Grid), To: at}) >= least {
			return at
		}
	}
	return s.From
}

func (c *incidentCase) snapshot(k *snapshot.Codec) {
	k.Entity(&c.job)
	c.incident.Snapshot(k)
	c.published.Snapshot(k)
	c.former.Snapshot(k)
	c.impact.Snapshot(k)
	k.Entity(&c.under)
	k.Int(&c.diverged)
	c.naming.snapshot(k)
	k.Bool(&c.well)
	k.Bool(&c.failed)
	k.Bool(&c.accepted)
	k.Bool(&c.restored)
	k.Time(&c.since)
	k.String(&c.ending)
	if c.before == nil {
		c.before = &fabric.Baseline{}
	}
	c.before.Snapshot(k)
	kept := c.dependencies != nil
	k.Bool(&kept)
	if kept {
		if c.dependencies == nil {
			c.dependencies = &symptom.Baseline{}
		}
		c.dependencies.Snapshot(k)
	}
	k.F64(&c.saves)
	for i := range c.reportedWork {
		k.F64(&c.reportedWork[i].value)
		k.F64(&c.reportedWork[i].err)
	}
	snapshot.List(k, &c.hosts, 33, func(k *snapshot.Codec, h *hostBefore) {
		k.Entity(&h.node)
		snapshot.List(k, &h.ranks, 32, func(k *snapshot.Codec, r *rankBefore) {
			k.Entity(&r.rank)
			k.F64(&r.compute)
			k.F64(&r.own)
		})
		snapshot.List(k, &h.nics, 24, func(k *snapshot.Codec, n *nicBefore) {
			k.Entity(&n.nic)
			k.F64(&n.share)
		})
		k.F64(&h.lag.Seconds)
		k.F64(&h.lag.Error)
		k.Bool(&h.hasLag)
	})
	snapshot.List(k, &c.nodes, 16, (*snapshot.Codec).Entity)
	snapshot.List(k, &c.others, 32, func(k *snapshot.Codec, o *explain.Other) {
		k.Entity(&o.Job)
		k.Time(&o.Since)
		snapshot.List(k, &o.Nodes, 16, (*snapshot.Codec).Entity)
		k.Interval(&o.Rose)
		k.Time(&o.Flat)
	})
	c.account.Snapshot(k)
	c.remainder.Snapshot(k)
	codeFirst(k, &c.first)
	c.counted.Snapshot(k)
	c.pinned.snapshot(k)
	two := c.concurrent != nil
	k.Bool(&two)
	if two {
		if c.concurrent == nil {
			c.concurrent = &concurrentFault{}
		}
		c.concurrent.snapshot(k)
	}
	c.late.snapshot(k)
	k.Time(&c.judged)
	k.Time(&c.looked)
	k.Bool(&c.alike)
	k.U64(&c.steps)
	k.Time(&c.resolved)
}
