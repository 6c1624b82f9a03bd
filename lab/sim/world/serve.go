package world

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
)

// serving is an inference job as it runs.
type serving struct {
	job     *work.Job
	index   int
	seed    random.Source
	caches  *traffic // from prefill to decode; a share is one request
	running bool
	queue   float64 // requests that the pools cannot take yet
	now     state.Serving
	// how busy the pools are in this second
	prefill, decode float64
}

func newServing(w *World, j *work.Job, index int) *serving {
	v := &serving{job: j, index: index, seed: w.seed.Named("job")}
	v.seed = v.seed.Named(j.Name)
	v.caches = newTraffic(w.site, steady, j.Transfers())
	return v
}

// offer sets what its transfers want of the network.
func (v *serving) offer(load float64) {
	if v.caches == nil {
		return
	}
	for i := range v.caches.flows {
		f := &v.caches.flows[i]
		f.demand = float64(f.due * 8 * v.job.Serving.Requests * load)
	}
}

// pool is how many GPUs of a part of the job work, how much longer their work
// takes than at the top clock, in the mean, and how much longer at the slowest.
func (v *serving) pool(w *World, nodes []int) (servers int, stretch, slowest float64) {
	sum := 0.0
	slowest = 1
	for _, n := range nodes {
		for i := range v.job.GPUs {
			m := &w.machines[n*v.job.GPUs+i]
			if !m.works {
				continue
			}
			x := max(m.governor.Clock/m.model.Top, 0.05)
			if m.governor.Reasons&gpu.Idle != 0 {
				x = 1 // it comes up when asked
			}
			s := gpu.Stretch(v.job.Serving.Bound, x)
			sum, slowest = sum+s, max(slowest, s)
			servers++
		}
	}
	if servers == 0 {
		return 0, 1, 1
	}
	return servers, sum / float64(servers), slowest
}

// requestTimeout is how many seconds a client waits for its first token before it
// gives up: gateways and clients time out after one to two minutes.
const requestTimeout = 60.0

// advance serves for a second that begins at from: requests come, wait for a
// prefill GPU (M/M/c), their caches go to the decoding pool, which decodes in
// batches; what the pools cannot take queues up, until its clients give up.
func (v *serving) advance(w *World, from float64) {
	c, spec := &w.condition.Jobs[v.index], v.job.Serving
	runs := from >= v.job.Start && !(v.job.End > 0 && from >= v.job.End) && !c.Stopped
	v.turn(w, from, runs)
	v.now, v.prefill, v.decode = state.Serving{}, 0, 0
	if !runs {
		v.queue = 0
		return
	}
	r := v.seed.At(uint64(from))
	arrivals := float64(spec.Requests * c.Load * (1 + float64(spec.Swing*dayWave(from))) * r.LogNormal(1, 0.04))
	first, slowFirst, _ := v.pool(w, v.job.Nodes[:spec.Prefill])
	second, slowSecond, slowest := v.pool(w, v.job.Nodes[spec.Prefill:])
	seconds := float64(spec.Prompt*slowFirst*c.Work) / spec.PrefillTokens
	canPrefill := float64(first) / seconds
	canDecode := float64(float64(second)*spec.DecodeTokens) / float64(spec.Output*slowSecond*c.Work)
	transfer, canMove := v.transfer()
	can := min(canPrefill, canDecode, canMove)
	taken := min(arrivals+v.queue, can)
	v.queue = min(max(0, v.queue+arrivals-taken), float64(requestTimeout*arrivals))
	v.prefill, v.decode = share(taken, canPrefill), share(taken, canDecode)
	itl := float64(spec.Step * slowSecond * (1 + float64(1.5*v.decode)))
	inside := float64(float64(taken*spec.Output) * itl)
	v.now = state.Serving{
		Queue: v.queue, Cache: min(1, inside/max(1, float64(spec.CacheRequests*float64(second)))), Tokens: float64(taken * spec.Output),
		ITL50: itl, ITL99: float64(itl*1.3) * slowest / max(slowSecond, 1e-9),
	}
	if v.queue > 0 {
		v.now.Cache = max(v.now.Cache, min(1, share(arrivals, canDecode)))
	}
	backlog := v.queue / max(can, 1e-3)
	v.now.TTFT50 = float64(1.1*seconds) + transfer + backlog
	v.now.TTFT99 = float64(1.8*seconds) + float64(1.5*transfer) + backlog
	if first > 0 {
		steady := min(taken, float64(0.98*canPrefill))
		wait := work.Wait(first, steady, seconds)
		v.now.TTFT50 += wait
		v.now.TTFT99 += work.WaitQuantile(first, steady, seconds, 0.99)
		v.now.Queue += float64(wait * taken)
	}
	v.now.TTFT50, v.now.TTFT99 = min(v.now.TTFT50, requestTimeout), min(v.now.TTFT99, requestTimeout)
	if v.caches != nil {
		v.caches.share += taken
		v.caches.active++
		v.caches.on = true
	}
}

func share(taken, can float64) float64 {
	if can <= 0 {
		return 0
	}
	return min(1, taken/can)
}

// transfer is how long a request's cache takes to the decoding pool (over all
// NICs of its node), and how many requests a second the network lets through.
func (v *serving) transfer() (seconds, can float64) {
	can = math.Inf(1)
	if v.caches == nil {
		return 0, can
	}
	each := float64(v.job.Serving.CacheBytes*8) / float64(v.job.GPUs)
	for i := range v.caches.flows {
		f := &v.caches.flows[i]
		if f.rate < f.demand || f.wire > 1 {
			can = min(can, f.rate/f.wire/8/f.due)
		}
		seconds += float64(each*f.wire) / max(f.room, 1e6)
	}
	return seconds / float64(len(v.caches.flows)), can
}

// turn emits when the job begins and ends.
func (v *serving) turn(w *World, now float64, runs bool) {
	if runs == v.running {
		return
	}
	v.running = runs
	w.dirty = true
	if runs {
		w.event(now, jobEntity(v.job), "job_started", "")
		return
	}
	w.event(now, jobEntity(v.job), "job_ended", "")
}

// act puts what the pools do on their GPUs for a tick: prefill is bound by
// computing, decoding by memory.
func (v *serving) act(w *World) {
	if !v.running {
		return
	}
	for at, n := range v.job.Nodes {
		a := gpu.Activity{Engine: min(1, 0.3+v.decode), SM: 0.15 + float64(0.35*v.decode), Tensor: float64(0.12 * v.decode), DRAM: float64(0.75 * v.decode)}
		busy := 1.0
		if at < v.job.Serving.Prefill {
			a, busy = gpu.Computing(), v.prefill
		}
		for i := range v.job.GPUs {
			if m := &w.machines[n*v.job.GPUs+i]; m.works {
				m.add(a, busy)
			}
		}
	}
}

// dayWave swings between -1 and 1 once a day, by two parabolas.
func dayWave(seconds float64) float64 {
	turn := seconds / 86400
	turn -= math.Floor(turn)
	if turn < 0.5 {
		return float64(8 * turn * (1 - float64(2*turn)))
	}
	turn -= 0.5
	return float64(-8 * turn * (1 - float64(2*turn)))
}
