package trainer

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
)

// TestTheModelMakesTheUtilisation: from the model that is stated and the tokens,
// the engine finds the utilisation that the site has.
func TestTheModelMakesTheUtilisation(t *testing.T) {
	for _, mfu := range []float64{0.08, 0.41, 0.55} {
		const gpus, tokens = 16, 11600.0
		m, err := attribute.ParseModel(modelText(mfu * gpus * peak / tokens))
		if err != nil {
			t.Fatal(err)
		}
		if got, how := m.PaLM(-1, tokens, gpus); how != attribute.FromTokens || math.Abs(got-mfu) > 0.001*mfu {
			t.Errorf("%v by %s, want %v", got, how, mfu)
		}
	}
}
