package crosscheck

import (
	"fmt"
	"math"
	"slices"
)

// plan is all that is drawn before a run.
type plan struct {
	seed     uint64
	site     *site
	profile  profile
	jobs     []jobSpec
	spare    []int // nodes without a job
	length   float64
	epoch    int64
	seat     []float64 // degrees by which a GPU is hotter for good
	tickling map[int]float64
	upkeep   int // a spare node under maintenance, -1: none
}

func (p *plan) nanos(t float64) int64 { return p.epoch + int64(math.Round(t*1e9)) }

// newPlan draws a site with its jobs.
func newPlan(kind Kind, seed uint64) *plan {
	d := newDice(seed, 11)
	p := &plan{seed: seed, site: newSite(kind, d), length: math.Floor(d.between(600, 1500)), upkeep: -1}
	p.epoch = 1_780_000_000e9 + int64(d.IntN(2_000_000))*1e9
	p.profile = newProfile(p.site, d, p.length)
	p.place(d)
	p.confuse(d)
	return p
}

// place puts jobs on nodes, one behind the other or mixed.
func (p *plan) place(d dice) {
	n := len(p.site.nodes)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	count := 1 + d.IntN(2)
	if p.site.kind == IB && n >= 16 {
		count = 2 + d.IntN(2)
	}
	spare := choose(d, 0, 1, n/8, n/4)
	if d.chance(.4) { // neighbours alternate
		slices.SortStableFunc(order, func(a, b int) int { return a%count - b%count })
	}
	per := (n - spare) / count / 2 * 2
	for i := range count {
		nodes := slices.Clone(order[i*per : (i+1)*per])
		slices.Sort(nodes)
		p.jobs = append(p.jobs, p.newSpec(d, i, nodes))
	}
	p.spare = order[count*per:]
}

// newSpec draws a job.
func (p *plan) newSpec(d dice, i int, nodes []int) jobSpec {
	s := jobSpec{nodes: nodes, step: d.geometric(.5, 20), comm: d.between(.1, .38), overlap: choose(d, 0, .15, .35), memory: d.between(.15, .4), noise: d.between(.003, .009), stages: 1}
	s.entity = fmt.Sprintf("job:%s.%d", choose(d, p.site.names.models...), 110000+d.IntN(9000)*10+i)
	s.moe = p.site.kind == IB && i == 0 && d.chance(.6) || d.chance(.2)
	if !s.moe && len(nodes)%4 == 0 && d.chance(.35) {
		s.stages = choose(d, 2, len(nodes)/2)
	}
	if s.serving = p.site.kind == RoCE && i > 0 && d.chance(.5); s.serving {
		s.moe, s.stages, s.load = false, 1, d.between(.35, .75)
	}
	s.strideN = 1 + d.IntN(10)
	if s.step > 6 {
		s.strideN = 1 + d.IntN(2)
	}
	if p.profile.ranks {
		s.strideN = max(s.strideN, int(min(10, math.Ceil(float64(len(nodes))/3/s.step))))
	}
	if d.chance(.5) {
		s.interval, s.ckpt, s.inside = d.between(120, 420), d.between(3, 20), d.chance(.25)
		if d.chance(.3) && !s.inside {
			s.grow = d.between(.03, .1)
		}
	}
	return s
}

// confuse adds what is out of the ordinary and does no harm.
func (p *plan) confuse(d dice) {
	p.seat, p.tickling = make([]float64, len(p.site.nodes)*gpusPerNode), map[int]float64{}
	if d.chance(.4) {
		p.seat[d.IntN(len(p.seat))] = d.between(5, 10)
	}
	if d.chance(.4) && len(p.spare) > 0 { // errors on a cable that nobody uses
		n := choose(d, p.spare...)
		p.tickling[p.site.leafPort[n][d.IntN(p.site.rails)]] = d.geometric(.02, 3)
	}
	if i := len(p.jobs) - 1; i > 0 && d.chance(.15) {
		p.jobs[i].begin = d.between(60, p.length*.7)
	} else if i > 0 && d.chance(.1) {
		p.jobs[i].end = d.between(p.length*.4, p.length*.9)
	}
}

// calm adds the events of a quiet case, each with its announcement.
func (p *plan) calm(d dice) {
	j := &p.jobs[0]
	early, late := p.length*.4, p.length*.8
	switch d.IntN(6) {
	case 0:
		j.eval = d.between(early, late)
	case 1:
		j.restart = d.between(early, late)
	case 2:
		j.inside = false
		j.interval, j.ckpt, j.grow = d.between(90, 200), d.between(5, 25), d.between(.05, .15)
	case 3:
		if len(p.spare) > 0 {
			p.upkeep = p.spare[0]
		}
	case 4:
		j.resize, j.factor = d.between(early, late), choose(d, .7, 1.25, 1.5)
	}
}

// topology returns the edges of the site and its jobs.
func (p *plan) topology() []Edge {
	out := p.site.edges()
	for i := range p.jobs {
		j := &p.jobs[i]
		out = append(out, Edge{From: j.entity, Relation: "uses", To: storageEntity})
		for k, n := range j.nodes {
			out = append(out, Edge{From: j.entity, Relation: "runs", To: p.site.nodeEntity(n)})
			if !p.profile.ranks || j.serving {
				continue
			}
			for g := range gpusPerNode {
				e := rankEntity(j.entity, k*gpusPerNode+g)
				attrs := map[string]any{"rank": k*gpusPerNode + g, "tp": g, "dp": k}
				if j.stages > 1 {
					per := len(j.nodes) / j.stages
					attrs["dp"], attrs["pp"] = k%per, k/per
				}
				out = append(out, Edge{e, p.site.gpuEntity(n*gpusPerNode + g), "runs", attrs})
			}
		}
	}
	return out
}

func rankEntity(job string, i int) string { return fmt.Sprintf("rank:%s/%d", job[len("job:"):], i) }
