package rules

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// WeightsName is the name of the file, at the top of a folder of signatures, that
// holds what was fitted to labelled recordings (quintet learn --weights): the prior
// of each signature and the weights of its features.
const WeightsName = "weights.yaml"

// weights are what such a file says of one signature.
type weights struct {
	name     string
	at       at
	prior    float64
	features []featureWeights
}

// featureWeights are the log-odds of a feature that is fully there and not there.
type featureWeights struct {
	name         string
	at           at
	pro, against float64
}

// readWeights reads a root's file of weights, if it has one.
func readWeights(root fs.FS) (out []weights, found bool, problems Problems) {
	b, err := fs.ReadFile(root, WeightsName)
	if err != nil {
		return nil, false, nil // a folder of a site's own signatures has none
	}
	r := reader{file: called(root, WeightsName)}
	if len(b) > maxFile {
		r.fail(at{1, 1}, "%d bytes; at most %d", len(b), maxFile)
		return nil, true, r.problems
	}
	if n := r.document(b); n != nil {
		r.mapping(n, "weights file", []field{{"weights", true, func(n *yaml.Node) { out = r.weights(n) }}})
	}
	return out, true, r.problems
}

// named calls fn for each key of a mapping and its value.
func (r *reader) named(n *yaml.Node, what string, fn func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(place(n), "%s: want names and values, found %s", what, kindOf(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		fn(n.Content[i], n.Content[i+1])
	}
}

func (r *reader) weights(n *yaml.Node) (out []weights) {
	r.named(n, "weights", func(key, value *yaml.Node) {
		w := weights{name: key.Value, at: place(key)}
		r.mapping(value, "weights of "+key.Value, []field{
			{"prior", true, func(n *yaml.Node) { w.prior = r.number(n, "prior") }},
			{"features", true, func(n *yaml.Node) {
				r.named(n, "features", func(key, value *yaml.Node) { w.features = append(w.features, r.pair(key, value)) })
			}},
		})
		out = append(out, w)
	})
	return out
}

// pair reads the weights of one feature.
func (r *reader) pair(key, value *yaml.Node) featureWeights {
	var xs []float64
	r.list(value, key.Value, func(n *yaml.Node) { xs = append(xs, r.number(n, key.Value)) })
	if len(xs) != 2 {
		r.fail(place(value), "%s: want [for, against], found %d numbers", key.Value, len(xs))
		xs = []float64{0, 0}
	}
	return featureWeights{name: key.Value, at: place(key), pro: xs[0], against: xs[1]}
}

// WriteWeights writes the weights of signatures as a file of them; header states what
// they were fitted to.
func WriteWeights(w io.Writer, header string, sigs []explain.Signature) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n# Log-odds: the prior of each signature; for each feature what it adds where it is\n# fully there, and where it is not.\nweights:\n", header)
	for i := range sigs {
		fmt.Fprintf(&b, "  %s:\n    prior: %.2f\n    features:\n", sigs[i].Name, sigs[i].Prior)
		for _, c := range sigs[i].Features {
			fmt.Fprintf(&b, "      %s: [%.2f, %.2f]\n", c.Name, c.For, c.Against)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ours are the weights that are part of the program. They are sound: a test reads
// them. They are read once.
var ours = sync.OnceValue(func() []weights {
	all, _, _ := readWeights(Files())
	return all
})

// setMissing gives signatures those weights that they lack: a site that changes one
// of ours need not repeat them.
func setMissing(set []*parsed, all []weights) {
	for _, w := range all {
		s := find(set, w.name)
		if s == nil {
			continue
		}
		if !s.weighed {
			s.Prior, s.weighed = w.prior, true
		}
		for _, c := range w.features {
			if i := s.feature(c.name); i >= 0 && s.featureWeighed[i] == missing {
				s.Features[i].For, s.Features[i].Against, s.featureWeighed[i] = c.pro, c.against, fitted
			}
		}
	}
}

// feature returns the place of a feature, -1 where there is none of that name.
func (p *parsed) feature(name string) int {
	return slices.IndexFunc(p.Features, func(x explain.Feature) bool { return x.Name == name })
}

// setWeights gives signatures the weights of a file.
func setWeights(set []*parsed, file string, all []weights) Problems {
	r := reader{file: file}
	for _, w := range all {
		s := find(set, w.name)
		if s == nil {
			r.warn(w.at, "weights: no signature is named %q", w.name)
			continue
		}
		s.Prior, s.weighed = w.prior, true
		for _, c := range w.features {
			i := s.feature(c.name)
			if i < 0 {
				r.warn(c.at, "weights: %s has no feature named %q", w.name, c.name)
				continue
			}
			s.Features[i].For, s.Features[i].Against, s.featureWeighed[i] = c.pro, c.against, fitted
		}
	}
	return r.problems
}

// soundWeights reports priors and features that neither a signature's file nor a file
// of weights gives a weight, and weights that cannot be meant.
func soundWeights(set []*parsed) (problems Problems) {
	for _, s := range set {
		r := reader{file: s.file}
		if !s.weighed {
			r.fail(s.at.name, "signature: key \"prior\" is missing, and no %s has weights of %s", WeightsName, s.Name)
		}
		for i := range s.Features {
			c, p := &s.Features[i], s.at.features[i]
			switch {
			case !s.weighed:
			case s.featureWeighed[i] == missing:
				r.fail(p, "feature %s: keys \"for\" and \"against\" are missing, and no %s has weights of it", c.Name, WeightsName)
			case c.For < c.Against:
				r.fail(p, "feature %s: for %g is below against %g: evidence for it would speak against it", c.Name, c.For, c.Against)
			case c.For == c.Against && !c.Required && s.featureWeighed[i] == stated:
				r.warn(p, "feature %s: for and against are alike and it is not required: it changes nothing", c.Name)
			}
		}
		problems = append(problems, r.problems...)
	}
	return problems
}
