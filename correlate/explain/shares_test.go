package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// TestASpineThatEveryLeafSendsMoreTo: the leaves give spine0 twice what it had against
// spine1.
func TestASpineThatEveryLeafSendsMoreTo(t *testing.T) {
	s := calm(t)
	for _, up := range []string{"port:leaf0/s0", "port:leaf1/s0"} {
		s.now(up).Util *= 2
	}
	s.wants("switch:spine0", explain.Values{explain.ShareShift: 1, explain.ShiftAlike: 1})
	if v, ok := s.candidates()["switch:spine1"].Values[explain.ShareShift]; ok {
		t.Errorf("spine1 gets less, and its share has shifted by %v: of two, the one that gets more is waited for", v)
	}
}

// TestWhatIsNotSharedOutHasNoShare: what goes to spine0 has doubled, and is a hundredth of what
// goes to spine1, as to storage: no step takes longer for that.
func TestWhatIsNotSharedOutHasNoShare(t *testing.T) {
	s := calm(t)
	for _, up := range []string{"port:leaf0/s0", "port:leaf1/s0"} {
		s.before(up).Util = load / 100
		s.now(up).Util = load * slower / 50
	}
	if v, ok := s.candidates()["switch:spine0"].Values[explain.ShareShift]; ok {
		t.Errorf("the share of spine0 has shifted by %v", v)
	}
}

// TestOneLeafsHashIsNoShiftOfShares: half of the leaves do not show it.
func TestOneLeafsHashIsNoShiftOfShares(t *testing.T) {
	s := calm(t)
	s.now("port:leaf0/s0").Util *= 2
	for _, spine := range []string{"switch:spine0", "switch:spine1"} {
		if v := s.candidates()[spine].Values[explain.ShareShift]; v > 1e-9 {
			t.Errorf("the share of %s has shifted by %v", spine, v)
		}
	}
}

// TestWhoSendsMoreIsNoShiftOfShares: a host has one NIC, so that it shares out nothing.
func TestWhoSendsMoreIsNoShiftOfShares(t *testing.T) {
	s := recorded(t, func(p *tape) { p.say("nic:h0/n0", txBytes, speed/3, speed*2/3) })
	if v, ok := s.candidates()["switch:leaf0"].Values[explain.ShareShift]; ok {
		t.Errorf("the share of leaf0 has shifted by %v", v)
	}
}

// TestARiseThatParallelLinksShareIsNoHash: an uplink's rise is shared by the other leaf's
// uplink into the same spine, or is its own.
func TestARiseThatParallelLinksShareIsNoHash(t *testing.T) {
	for other, want := range map[float64]float64{1: 0, 1.5: 0.5, 2: 1} {
		s := degradedUplink(t)
		for _, n := range []string{"nic:h0/n0", "nic:h7/n0"} {
			s.carries(n, load)
		}
		s.carries("port:leaf0/s0", 2*load)
		s.carries("port:leaf1/s0", other*load)
		s.wants("port:leaf0/s0", explain.Values{explain.LoadRatio: 2, explain.ParallelRise: want})
	}
	s := degradedUplink(t)
	for _, n := range []string{"nic:h0/n0", "nic:h7/n0", "port:leaf0/s0"} {
		s.carries(n, load)
	}
	s.hides("port:leaf0/s0", explain.ParallelRise) // it carries no more
}
