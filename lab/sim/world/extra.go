package world

// incasts makes and unmakes the flows of jobs all of whose nodes send to one
// NIC.
func (w *World) incasts() {
	for i := range w.jobs {
		c := &w.condition.Jobs[i]
		if c.Rate <= 0 {
			w.incast[i] = nil
			continue
		}
		t := w.incast[i]
		if t == nil || len(t.flows) == 0 || t.flows[0].to != int32(c.Incast) {
			t = w.newIncast(i, int32(c.Incast))
			w.incast[i] = t
		}
		each := float64(c.Rate*w.site.Speed) / float64(max(1, len(t.flows)))
		for k := range t.flows {
			t.flows[k].due, t.flows[k].demand = each/8, each
		}
	}
}

// newIncast is a flow from each node of a job, over the NIC of the receiver's
// number, to the receiver.
func (w *World) newIncast(job int, to int32) *traffic {
	t := &traffic{always: true, fluid: true, layer: steady, seconds: 1}
	for _, n := range w.jobs[job].Nodes {
		if from := int32(n*w.site.GPUs) + to%int32(w.site.GPUs); from != to {
			t.flows = append(t.flows, flow{from: from, to: to})
		}
	}
	t.index()
	w.router.plan(t)
	return t
}

// surges starts and ends what jobs send beyond their usual traffic: bulk traffic
// from every NIC to those of two other nodes, over hashed paths.
func (w *World) surges() {
	for i, j := range w.jobs {
		more := w.condition.Jobs[i].Traffic - 1
		if more <= 0 || len(j.Nodes) < 2 {
			w.surge[i] = nil
			continue
		}
		if w.surge[i] == nil {
			w.surge[i] = w.newSurge(i)
		}
		each := float64(more*w.usual(i)) / 2
		for k := range w.surge[i].flows {
			f := &w.surge[i].flows[k]
			f.due, f.demand = each/8, each
		}
	}
}

// usual is about how many bits a second each NIC of a job sends in health.
func (w *World) usual(job int) float64 {
	if t := w.training[job]; t != nil {
		spec := t.job.Training
		return float64((spec.Ring+spec.Exchange+spec.Stage)*8) / float64(1.25*spec.Seconds)
	}
	v := w.jobs[job].Serving
	return float64(v.CacheBytes*8*v.Requests) / float64(w.jobs[job].Ranks)
}

func (w *World) newSurge(job int) *traffic {
	t := &traffic{always: true, fluid: true, hashed: true, layer: steady, seconds: 1}
	nodes := w.jobs[job].Nodes
	for i, n := range nodes {
		for _, stride := range [2]int{1, 1 + len(nodes)/2} {
			to := nodes[(i+stride)%len(nodes)]
			for nic := range w.site.GPUs {
				if n != to {
					t.flows = append(t.flows, flow{from: int32(n*w.site.GPUs + nic), to: int32(to*w.site.GPUs + nic), group: int32(stride)})
				}
			}
		}
	}
	t.index()
	return t
}
