package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/rules"
)

// TestThresholdsHaveRoom moves every threshold of every signature by a quarter,
// all at once, up and down: the right roots must stay right. Thresholds that
// had been fitted to these runs would not have such room.
func TestThresholdsHaveRoom(t *testing.T) {
	dirs := runs(t)
	for _, factor := range []float64{0.8, 1.25} {
		set, err := rules.Standard()
		if err != nil {
			t.Fatal(err)
		}
		sigs := moved(set.Signatures, factor)
		j := replay.Judged{Engine: engine.Config{Correlate: correlate.Config{Signatures: sigs, Rules: rules.Digest(sigs)}}}
		r, err := score.Run(context.Background(), dirs, score.Options{Replay: j.Case})
		if err != nil {
			t.Fatal(err)
		}
		// The weights are fitted to the ranges as they are: one root in 28 may be
		// lost, and one benign change in six reported as an incident.
		if r.Total.AC1 == nil || *r.Total.AC1 < 27.0/28 || *r.Total.Precision < 28.0/29 {
			t.Errorf("thresholds × %g: AC@1 %v, precision %v over %d runs", factor, *r.Total.AC1, *r.Total.Precision, len(dirs))
		}
	}
}

func moved(sigs []explain.Signature, factor float64) []explain.Signature {
	out := slices.Clone(sigs)
	for i := range out {
		out[i].Features = slices.Clone(out[i].Features)
		for k := range out[i].Features {
			c := &out[i].Features[k]
			c.None, c.Full = c.None*factor, c.Full*factor
		}
	}
	return out
}

// runs lists the shared runs, or those in testdata where there are none.
func runs(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "shared", "traces", "roce")
	if _, err := os.Stat(root); err != nil {
		root = filepath.Join("..", "testdata", "roce")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", replay.TruthFile))
	if err != nil || len(files) == 0 {
		t.Fatalf("no runs in %s: %v", root, err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}
