package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// odd lists by name the anomalies of a site.
func (s *site) odd() map[string]explain.Suspect {
	out := map[string]explain.Suspect{}
	for _, x := range explain.Anomalies(explain.Candidates(s.e)) {
		out[x.Entity.String()] = x
	}
	return out
}

// TestWhatNoHealthyNetworkDoesIsOdd whatever signatures there are.
func TestWhatNoHealthyNetworkDoesIsOdd(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(*tape)
		want  []string // of each at least a third is suspected
	}{
		{"nothing happens", func(*tape) {}, nil},
		{"all links of a switch are gone", func(p *tape) {
			p.say("port:leaf0/s1", portUp, 1, 0)
			p.say("port:leaf1/s1", portUp, 1, 0)
		}, []string{"switch:spine1"}},
		{"a link damages packets", func(p *tape) { p.say("port:leaf0/s0", crcErrors, 0, 1e4) }, []string{"port:leaf0/s0"}},
		{"a switch drops", func(p *tape) { p.say("port:spine0/l0", discards, 0, 1e4) }, []string{"switch:spine0"}},
		{"a nic gets packets out of order that nobody lost", func(p *tape) {
			p.say("nic:h0/n0", outOfOrder, 0, 1e4)
			p.say("nic:h1/n0", seqErrors, 0, 1e4)
		}, []string{"nic:h0/n0"}},
	} {
		got := recorded(t, c.write).odd()
		for _, name := range c.want {
			if got[name].Weight < 0.33 {
				t.Errorf("%s: %s is not odd: %+v", c.name, name, got)
			}
		}
		if len(c.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestASwitchWhoseLinksAreGoneAccountsForThem and nothing else does.
func TestASwitchWhoseLinksAreGoneAccountsForThem(t *testing.T) {
	got := recorded(t, func(p *tape) {
		p.say("port:leaf0/s1", portUp, 1, 0)
		p.say("port:leaf1/s1", portUp, 1, 0)
	}).odd()
	if s := got["switch:spine1"]; s.Accounts != 1 || s.Weight < got["switch:leaf0"].Weight {
		t.Errorf("%+v", got)
	}
}
