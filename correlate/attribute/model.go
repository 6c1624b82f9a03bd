package attribute

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Model is what a job reports of its model, so that its utilisation can be computed
// by one convention. Zero is not stated.
type Model struct {
	Convention string  // by which the job counts FLOPs itself: a key of Conventions
	Precision  string  // bf16, fp8 …
	Peak       float64 // FLOP/s of one GPU at that precision, dense
	Parameters float64 // active ones: those that a token passes
	Layers     float64
	Heads      float64
	HeadWidth  float64
	Sequence   float64 // tokens
}

// ModelEvent states a job's model: its text is a list of key=value.
const ModelEvent telemetry.EventName = "job_model"

// How FLOPs per token are counted: 6 a parameter, and by attention
// layers × heads × head width × sequence times this (reference telemetry.md
// 6.5). PaLM counts full attention, Megatron the causal half.
const (
	attentionPaLM     = 12.0
	attentionMegatron = 6.0
	attentionNone     = 0.0
	perParameter      = 6.0
)

// Conventions lists those that are known.
func Conventions() []string { return []string{"palm", "torchtitan", "megatron", "6n"} }

func attention(convention string) (float64, bool) {
	switch convention {
	case "palm", "torchtitan":
		return attentionPaLM, true
	case "megatron":
		return attentionMegatron, true
	case "6n":
		return attentionNone, true
	}
	return 0, false
}

// ParseModel reads the text of a ModelEvent, such as
//
//	flops_convention=megatron precision=bf16 peak_flops=989e12 active_params=70e9 layers=80 heads=64 head_dim=128 sequence=8192
//
// in any order, each key at most once.
func ParseModel(text string) (Model, error) {
	var m Model
	numbers := map[string]*float64{"peak_flops": &m.Peak, "active_params": &m.Parameters, "layers": &m.Layers, "heads": &m.Heads,
		"head_dim": &m.HeadWidth, "sequence": &m.Sequence}
	words := map[string]*string{"flops_convention": &m.Convention, "precision": &m.Precision}
	seen := map[string]bool{}
	for _, field := range strings.Fields(text) {
		key, value, ok := strings.Cut(field, "=")
		switch {
		case !ok:
			return Model{}, fmt.Errorf("model: %q: want key=value", field)
		case seen[key]:
			return Model{}, fmt.Errorf("model: %s: stated twice", key)
		case words[key] != nil:
			*words[key] = strings.ToLower(value)
		case numbers[key] != nil:
			x, err := strconv.ParseFloat(value, 64)
			if err != nil || !(x > 0) || x > 1e18 {
				return Model{}, fmt.Errorf("model: %s: %q: want a positive number", key, value)
			}
			*numbers[key] = x
		default:
			return Model{}, fmt.Errorf("model: %s: unknown key", key)
		}
		seen[key] = true
	}
	if _, ok := attention(m.Convention); m.Convention != "" && !ok {
		return Model{}, fmt.Errorf("model: flops_convention: %q: want one of %s", m.Convention, strings.Join(Conventions(), ", "))
	}
	return m, nil
}

// FLOPs returns the FLOPs a token takes by a convention, and false where the model
// does not state enough.
func (m *Model) FLOPs(convention string) (float64, bool) {
	a, ok := attention(convention)
	if !ok || !(m.Parameters > 0) {
		return 0, false
	}
	width := float64(float64(m.Layers*m.Heads) * float64(m.HeadWidth*m.Sequence))
	if !(width > 0) && a > 0 {
		return 0, false
	}
	return float64(perParameter*m.Parameters) + float64(a*width), true
}

// How a utilisation by the PaLM convention came about.
const (
	FromTokens    = "tokens"    // from tokens a second, the model and the peak
	FromReported  = "converted" // from the reported one, by its convention
	AsReported    = "reported"  // the reported one as it is: it states no convention
	NotDetermined = ""
)

// PaLM returns a job's model FLOPs utilisation by the PaLM convention
// (Chowdhery et al. 2022, appendix B: recomputation is not counted, attention
// is) on so many GPUs, and how it came about. Negative inputs are not known,
// and so is a negative answer.
func (m *Model) PaLM(reported, tokens float64, gpus int) (float64, string) {
	palm, known := m.FLOPs("palm")
	if known && m.Peak > 0 && tokens >= 0 && gpus > 0 {
		if x := float64(tokens*palm) / float64(float64(gpus)*m.Peak); x <= 1 {
			return x, FromTokens
		}
	}
	if reported < 0 {
		return -1, NotDetermined
	}
	if own, ok := m.FLOPs(m.Convention); known && ok {
		if x := float64(reported * palm / own); x <= 1 {
			return x, FromReported
		}
	}
	if m.Convention == "palm" || m.Convention == "torchtitan" {
		return reported, FromReported
	}
	return reported, AsReported
}

// Snapshot writes or restores the model.
func (m *Model) Snapshot(k *snapshot.Codec) {
	k.String(&m.Convention)
	k.String(&m.Precision)
	for _, x := range []*float64{&m.Peak, &m.Parameters, &m.Layers, &m.Heads, &m.HeadWidth, &m.Sequence} {
		k.F64(x)
	}
}
