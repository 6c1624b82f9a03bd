package explain

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestInOrderDropsWhatIsNoEffectOfTheRoot(t *testing.T) {
	at := func(name string, from, to telemetry.Time) Link {
		return Link{Entity: telemetry.Entity{Kind: telemetry.Node, Name: name}, Onset: telemetry.Interval{Earliest: from * 1e9, Latest: to * 1e9}}
	}
	for name, c := range map[string]struct {
		between Link
		kept    bool
	}{
		"after the root and before the job": {at("n", 11, 12), true},
		"surely before the root":            {at("n", 5, 7), false},
		"perhaps before the root":           {at("n", 5, 9), true},
		"surely after the job":              {at("n", 22, 23), false},
		"perhaps after the job":             {at("n", 20, 23), true},
	} {
		got := inOrder([]Link{at("root", 8, 10), c.between, at("job", 15, 21)})
		if kept := len(got) == 3; kept != c.kept {
			t.Errorf("%s: %d links", name, len(got))
		}
	}
}
