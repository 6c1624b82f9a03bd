package worlds

import "github.com/quintet-dc/quintet/lab/sim/random"

// Jobs is what runs on the site.
type Jobs struct {
	// StepSeconds is about how long a step of the first job is: 0.3 to 60 s. 0
	// draws it as the standard site does, 3 to 6 s.
	StepSeconds float64
	// Every is how many steps a report of a job covers: 1 to 20; 0 draws it as
	// the standard site does.
	Every int
	// Split gives each job its part of the nodes, in proportion; nil is the
	// standard mix.
	Split []int
	// Serves states that the last job of Split serves.
	Serves bool
	// Beat is by which share the steps of each next training job are longer than
	// those of the one before it: 0.02 to 0.5. Two jobs that share links then
	// meet every 1/Beat steps.
	Beat float64
	// SaveSeconds is about how long it is from one checkpoint to the next: 60 to
	// 300 s. 0 is as at the standard site.
	SaveSeconds float64
	// Growth is by which share of the first checkpoint each next one takes
	// longer: 0 to 0.1.
	Growth float64
	// Lead is for how many seconds the site has run before the recording begins:
	// 120 to 210 s, so that 30 to 120 s without a fault are recorded. 0 records
	// from the beginning.
	Lead int
}

// drawJobs draws a mix of jobs. Ranges are ours: what schedulers' traces show of
// sizes and checkpoints is wider.
func drawJobs(r *random.Source) Jobs {
	splits := [][]int{{1, 1}, {3, 1}, {2, 1, 1}, {1, 1, 1, 1}, {2, 1, 1}}
	j := Jobs{StepSeconds: logUniform(r, 1.5, 10), Beat: logUniform(r, 0.02, 0.5), SaveSeconds: r.Uniform(60, 300)}
	which := r.Below(len(splits))
	j.Split, j.Serves = splits[which], which == len(splits)-1
	if r.Chance(0.6) {
		j.Growth = r.Uniform(0.02, 0.1)
	}
	if r.Chance(0.5) {
		j.Lead = drawLead(r)
	}
	return j
}

func drawLead(r *random.Source) int { return 120 + r.Below(91) }
