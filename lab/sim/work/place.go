package work

// Place is where a rank sits and its index in each kind of group. Data is its
// number among those that hold the same part of the model.
type Place struct {
	Node, GPU                      int // of the site
	Tensor, Data, Pipeline, Expert int
}

// Place returns a rank's place. Tensor-parallel ranks are next to each other in
// a node; the nodes of a stage follow one another.
func (j *Job) Place(rank int) Place {
	at := rank / j.GPUs
	p := Place{Node: j.Nodes[at], GPU: rank % j.GPUs}
	if j.Training == nil {
		p.Data = rank
		return p
	}
	t, perStage := j.Training, len(j.Nodes)/j.stages
	p.Pipeline = at / perStage
	p.Tensor = rank % t.Tensor
	p.Data = (at%perStage*j.GPUs + p.GPU) / t.Tensor
	if t.Experts > 1 {
		p.Expert = at % perStage % t.Experts
	}
	return p
}

// Stages is how many pipeline stages there are.
func (j *Job) Stages() int { return j.stages }

// Hop is traffic between two nodes of a job, each NIC to the one of the same
// number, as collective libraries keep to rails. Bytes are of a NIC in a step.
type Hop struct {
	From, To int // nodes of the site
	Group    int // hops of one group wait for each other
	Bytes    float64
}

// Rings are the data-parallel rings: the nodes of each stage in order, each
// sending to the next (2(n−1)/n of the gradients; Ring describes how much).
func (j *Job) Rings() []Hop {
	perStage := len(j.Nodes) / j.stages
	if j.Training == nil || perStage < 2 || j.Training.Ring == 0 {
		return nil
	}
	var hops []Hop
	for s := range j.stages {
		nodes := j.Nodes[s*perStage : (s+1)*perStage]
		for i, n := range nodes {
			hops = append(hops, Hop{From: n, To: nodes[(i+1)%perStage], Group: s, Bytes: j.Training.Ring})
		}
	}
	return hops
}

// partners bounds how many of its peers a node sends to in an all-to-all: the
// traffic is sampled at strides that double, and bytes are kept.
const partners = 4

// Exchanges are what goes between nodes inside a step: tokens among experts,
// and activations and their gradients between stages.
func (j *Job) Exchanges() []Hop {
	if j.Training == nil {
		return nil
	}
	t, perStage := j.Training, len(j.Nodes)/j.stages
	var hops []Hop
	if n := t.Experts; n > 1 && t.Exchange > 0 {
		strides := 0
		for d := 1; d < n && strides < partners; d *= 2 {
			strides++
		}
		for i := range j.Nodes {
			first := i - i%perStage%n
			for k := range strides {
				to := j.Nodes[first+(i-first+1<<k)%n]
				hops = append(hops, Hop{From: j.Nodes[i], To: to, Group: first, Bytes: t.Exchange / float64(strides)})
			}
		}
	}
	for i := 0; i+perStage < len(j.Nodes) && t.Stage > 0; i++ {
		a, b := j.Nodes[i], j.Nodes[i+perStage]
		hops = append(hops, Hop{From: a, To: b, Group: i % perStage, Bytes: t.Stage},
			Hop{From: b, To: a, Group: i % perStage, Bytes: t.Stage})
	}
	return hops
}

// Transfers are the key-value caches that go from a serving job's prefill
// nodes to those that decode, in bytes a NIC sends for one request: which
// prefills it and which decodes it, chance decides evenly.
func (j *Job) Transfers() []Hop {
	if j.Serving == nil || j.Serving.CacheBytes == 0 {
		return nil
	}
	p := j.Serving.Prefill
	decode := j.Nodes[p:]
	fan := min(len(decode), partners)
	var hops []Hop
	for i, n := range j.Nodes[:p] {
		for k := range fan {
			bytes := j.Serving.CacheBytes / float64(p*fan*j.GPUs)
			hops = append(hops, Hop{From: n, To: decode[(i*fan+k)%len(decode)], Group: i, Bytes: bytes})
		}
	}
	return hops
}
