package trainer

import (
	"context"
	"fmt"
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// What the trainers' models have in common. Peak is the dense BF16 peak of an
// H100 SXM in FLOP/s (data sheet: 989.4 TFLOPS).
const (
	peak      = 989.4e12
	layers    = 32
	heads     = 32
	headWidth = 128
	// attended is the part of the arithmetic that is attention, about.
	attended = 0.06
)

// modelText states a model that takes so many FLOP a token by the PaLM
// convention.
func modelText(flops float64) string {
	sequence := math.Max(1, math.Round(attended*flops/(12*layers*heads*headWidth*1024))) * 1024
	parameters := (flops - 12*layers*heads*headWidth*sequence) / 6
	return fmt.Sprintf("flops_convention=palm precision=bf16 peak_flops=%g active_params=%.4g layers=%d heads=%d head_dim=%d sequence=%g", peak, parameters, layers, heads, headWidth, sequence)
}

// model states a job's model, once: the one whose arithmetic makes the
// utilisation that the site has.
func (f *Fleet) model(ctx context.Context, j telemetry.Entity, at telemetry.Time) {
	if f.models[j] {
		return
	}
	mfu, reported := f.board.Read(j, "job_mfu_ratio")
	tokens, counted := f.board.Read(j, "job_tokens_per_second")
	gpus := len(f.ranks(j))
	if !reported || !counted || mfu.Gap || tokens.Gap || gpus == 0 || !(mfu.Float() > 0) || !(tokens.Float() > 0) {
		return
	}
	f.models[j] = true
	text := modelText(mfu.Float() * float64(gpus) * peak / tokens.Float())
	f.post(ctx, "/api/v1/events", []map[string]any{{"entity": j, "time": stamp(at), "name": "job_model", "text": text}})
}
