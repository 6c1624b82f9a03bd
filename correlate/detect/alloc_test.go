package detect_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/lab/load"
	"github.com/quintet-dc/quintet/telemetry"
)

// In steady state a grid allocates nothing: neither to file its frames, nor to
// close it, nor to judge it.
func TestASteadyGridDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a few hundred grids")
	}
	for name, noisy := range map[string]bool{"healthy": false, "noisy": true} {
		t.Run(name, func(t *testing.T) {
			cfg := load.Part(3, 20_000)
			cfg.Noisy = noisy
			g := newGrids(t, cfg, 260)
			for range 200 {
				g.next()
			}
			if n := testing.AllocsPerRun(50, g.next); n != 0 {
				t.Errorf("%v allocations a grid", n)
			}
			if noisy && g.found == 0 {
				t.Error("nothing was ever found: that says little")
			}
		})
	}
}

// grids is a small site with the frames of its future.
type grids struct {
	w      *window.Window
	d      *detect.Detector
	frames [][]telemetry.EncodedFrame // by grid
	n      int
	found  int
}

func newGrids(t *testing.T, cfg load.Config, n int) *grids {
	t.Helper()
	site, err := load.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &grids{w: window.New(window.Config{}), d: detect.New(detect.Config{}), frames: make([][]telemetry.EncodedFrame, n)}
	for i := range site.Sources() {
		g.w.AddSchema(site.Schema(i))
	}
	for k := range g.frames {
		for i := range site.Sources() {
			b, err := site.AppendFrame(nil, i, 1, at(k+1))
			if err != nil {
				t.Fatal(err)
			}
			g.frames[k] = append(g.frames[k], b)
		}
	}
	return g
}

func (g *grids) next() {
	for _, f := range g.frames[g.n] {
		g.w.AddFrame(f)
	}
	g.n++
	g.w.Close(telemetry.Prompt, at(g.n), window.Serial)
	g.found += len(g.d.Run(g.w, telemetry.Prompt, window.Serial))
}
