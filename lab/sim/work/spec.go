package work

import "fmt"

// Peak is the dense BF16 peak of an H100 SXM in FLOP per second (data sheet:
// 989.4 TFLOPS), the denominator of MFU.
const Peak = 989.4e12

// Spec is a job: where it runs, when, and what it does. Exactly one of Training
// and Serving is set.
type Spec struct {
	Name     string
	Nodes    []int   // in the order of ranks, each with all its GPUs
	Start    float64 // seconds since the start of the run
	End      float64 // seconds; 0 has no end
	Training *Training
	Serving  *Serving
}

// Training is synchronous training. Bytes are those a NIC sends in one step.
type Training struct {
	Tensor   int // GPUs of a node that share each layer over NVLink; divides a node's
	Pipeline int // stages; divides the nodes
	Experts  int // nodes of a stage among which tokens are exchanged; 0 or 1 none

	Seconds      float64 // of a rank's computing in a step at the top clock
	Bound        float64 // share of it that is bound by the clock (gpu.Stretch)
	TensorShare  float64 // share of it that exchanges over NVLink
	Microbatches int     // of a step; more make the pipeline's bubble smaller

	Ring     float64 // bytes to sum gradients over the data-parallel group
	Overlap  float64 // share of Ring that may go while the backward pass computes
	Exchange float64 // bytes of expert all-to-all
	Stage    float64 // bytes handed to the next stage
	NVLink   float64 // bytes a GPU sends over NVLink

	Input      float64 // seconds to load the input of a step, hidden behind the step before
	InputBytes float64 // of the whole job in a step

	Checkpoint        int     // every so many steps; 0 never
	CheckpointSeconds float64 // in which nothing computes
	CheckpointBytes   float64
	CheckpointGrowth  float64 // by which share of the first each next one takes longer
	Announced         bool    // checkpoints are reported by events

	EvaluateEvery int // steps after which it evaluates; 0 never
	EvaluateFor   int // steps

	Tokens  float64 // in a step
	FLOPs   float64 // per token by the PaLM convention: 6 × parameters + attention
	Every   int     // each so many steps is reported; 0 is 1
	Ranks   bool    // times of ranks are reported
	Timeout float64 // seconds after which a stalled collective fails the job
	Restart float64 // seconds from failure to running again; 0 stays failed
}

// Serving is inference with separate pools for prefill and decoding.
type Serving struct {
	Prefill  int     // of the nodes, from the first; the rest decode
	Requests float64 // per second, in the mean
	Swing    float64 // share by which load follows the day
	Prompt   float64 // tokens
	Output   float64 // tokens

	PrefillTokens float64 // per second and GPU at the top clock
	DecodeTokens  float64 // per second and GPU at the top clock, at full batch
	Step          float64 // seconds of one decoding step at the top clock, nearly idle
	CacheBytes    float64 // key-value bytes of a request that go from prefill to decode
	CacheRequests float64 // requests whose keys and values a GPU holds
	Bound         float64 // share of decoding bound by the clock; memory binds the rest
}

// Job is a spec on nodes of so many GPUs. Its fields are read only.
type Job struct {
	Spec
	GPUs   int // per node
	Ranks  int
	stages int
}

// New checks a spec, or reports what is wrong with it.
func New(s Spec, gpus int) (*Job, error) {
	j := &Job{Spec: s, GPUs: gpus, Ranks: len(s.Nodes) * gpus, stages: 1}
	switch {
	case s.Name == "":
		return nil, fmt.Errorf("job without a name")
	case len(s.Nodes) == 0 || gpus < 1:
		return nil, fmt.Errorf("job %s: no nodes", s.Name)
	case (s.Training == nil) == (s.Serving == nil):
		return nil, fmt.Errorf("job %s: either training or serving", s.Name)
	case s.Serving != nil:
		return j, s.Serving.check(s.Name, len(s.Nodes))
	}
	j.stages = max(1, s.Training.Pipeline)
	return j, s.Training.check(s.Name, len(s.Nodes), gpus)
}

func (t *Training) check(name string, nodes, gpus int) error {
	switch {
	case t.Tensor < 1 || gpus%t.Tensor != 0:
		return fmt.Errorf("job %s: %d tensor-parallel ranks do not divide a node of %d", name, t.Tensor, gpus)
	case t.Pipeline < 0 || nodes%max(1, t.Pipeline) != 0:
		return fmt.Errorf("job %s: %d stages do not divide %d nodes", name, t.Pipeline, nodes)
	case t.Experts > 1 && nodes/max(1, t.Pipeline)%t.Experts != 0:
		return fmt.Errorf("job %s: groups of %d nodes for experts do not divide a stage of %d", name, t.Experts, nodes/max(1, t.Pipeline))
	case t.Seconds <= 0 || t.Bound < 0 || t.Bound > 1 || t.Overlap < 0 || t.Overlap > 1 || t.TensorShare < 0 || t.TensorShare > 1:
		return fmt.Errorf("job %s: computing takes time, and shares are 0 to 1", name)
	case min(t.Ring, t.Exchange, t.Stage, t.Input, t.CheckpointSeconds, t.Timeout, t.Restart) < 0:
		return fmt.Errorf("job %s: bytes and seconds are not negative", name)
	}
	return nil
}

func (v *Serving) check(name string, nodes int) error {
	switch {
	case v.Prefill < 1 || v.Prefill >= nodes:
		return fmt.Errorf("job %s: %d of %d nodes for prefill: both pools need one", name, v.Prefill, nodes)
	case min(v.Requests, v.Prompt, v.Output, v.PrefillTokens, v.DecodeTokens, v.Step, v.CacheRequests) <= 0:
		return fmt.Errorf("job %s: rates and lengths are positive", name)
	}
	return nil
}
