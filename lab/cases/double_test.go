package cases

import (
	"context"
	"testing"

	"github.com/quintet-dc/quintet/replay/score"
)

// TestTwoFaultsAtOnceAreTwoIncidents: a host that is late, and then a link that
// loses frames, which costs more; and a power brake, and then a NIC behind it
// that does not keep up. The first keeps its incident, the second gets its own.
func TestTwoFaultsAtOnceAreTwoIncidents(t *testing.T) {
	if testing.Short() {
		t.Skip("two runs of a site of 64 GPUs")
	}
	cs := []Case{
		{Class: "slow-rank", Second: "link-errors", Severity: Loud, GPUs: 64, Seed: 1},
		{Class: "power-brake", Second: "slow-receiver", Severity: Loud, GPUs: 64, Seed: 1},
	}
	out, err := Run(context.Background(), cs, options(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		r := score.Judge([]score.Case{out[i].Score}, score.Settings{})
		if r.Total.AC1 == nil || *r.Total.AC1 != 1 || r.Total.Precision == nil || *r.Total.Precision != 1 {
			t.Errorf("%s: %d incidents told: %+v", cs[i].Name(), len(out[i].Score.Incidents), r.Total)
		}
	}
}
