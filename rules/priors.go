package rules

import (
	"io/fs"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// PriorsName is the name of the file, at the top of a folder of signatures, that
// sets priors of signatures: a site's own experience (quintet learn).
const PriorsName = "priors.yaml"

// maxPrior bounds what a file may set: beyond it no feature could speak.
const maxPrior = 12.0

// prior is one line of such a file.
type prior struct {
	name string
	at   at
	odds float64 // log-odds
}

// readPriors reads a root's file of priors, if it has one.
func readPriors(root fs.FS) (out []prior, found bool, problems Problems) {
	b, err := fs.ReadFile(root, PriorsName)
	if err != nil {
		return nil, false, nil // most folders have none
	}
	r := reader{file: called(root, PriorsName)}
	if len(b) > maxFile {
		r.fail(at{1, 1}, "%d bytes; at most %d", len(b), maxFile)
		return nil, true, r.problems
	}
	if n := r.document(b); n != nil {
		r.mapping(n, "priors file", []field{{"priors", true, func(n *yaml.Node) { out = r.priors(n) }}})
	}
	return out, true, r.problems
}

func (r *reader) priors(n *yaml.Node) (out []prior) {
	if n.Kind != yaml.MappingNode {
		r.fail(place(n), "priors: want signatures and log-odds, found %s", kindOf(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		p := prior{name: n.Content[i].Value, at: place(n.Content[i]), odds: r.number(n.Content[i+1], "priors")}
		if p.odds < -maxPrior || p.odds > maxPrior {
			r.fail(place(n.Content[i+1]), "priors: %g of %s; want -%g to %g", p.odds, p.name, maxPrior, maxPrior)
		}
		out = append(out, p)
	}
	return out
}

// setPriors gives signatures the priors of a file.
func setPriors(set []*parsed, file string, priors []prior) (problems Problems) {
	r := reader{file: file}
	for _, p := range priors {
		switch s := find(set, p.name); {
		case s != nil:
			s.Prior, s.weighed = p.odds, true
		case !slices.Contains(faults(), p.name): // a folder checked by itself lacks ours
			r.warn(p.at, "priors: no signature is named %q", p.name)
		}
	}
	return r.problems
}

// Learned is what experience makes of a signature's prior.
type Learned struct {
	Name     string
	Cases    int // labelled cases in which it was the root
	Was, Now float64
}

const (
	// weightOfPrior is how many cases it takes for experience to count as much as what
	// the signatures came with.
	weightOfPrior = 20.0
	// farthest is how far experience moves a prior, in log-odds: evidence decides,
	// however often something has happened.
	farthest = 1.5
)

// Learn moves priors towards how often each signature was right on a site. A
// signature's share of the faults is that of its cases, mixed with the share
// that its prior gives it, which counts as weightOfPrior cases.
func Learn(sigs []explain.Signature, cases map[string]int) []Learned {
	var mass float64
	n := 0
	for _, s := range sigs {
		if s.Expect == explain.ExpectIncident {
			mass += math.Exp(s.Prior)
			n += cases[s.Name]
		}
	}
	var out []Learned
	for _, s := range sigs {
		if s.Expect != explain.ExpectIncident || n == 0 {
			continue
		}
		share := math.Exp(s.Prior) / mass
		own := (float64(cases[s.Name]) + weightOfPrior*share) / (float64(n) + weightOfPrior)
		move := min(max(math.Log(own/share), -farthest), farthest)
		out = append(out, Learned{s.Name, cases[s.Name], s.Prior, s.Prior + move})
	}
	return out
}
