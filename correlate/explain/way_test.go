package explain

import "testing"

// TestWhatDidNotChangeSaysWhatTheTroubleIsNot: evidence of absence is shown only
// where there is no other.
func TestWhatDidNotChangeSaysWhatTheTroubleIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		take       Take
		none, full float64
		want       bool
	}{
		"a limit that is what it was":   {TakeRatio, 0.9, 0.98, true},
		"a flow that fell":              {TakeRatio, 0.97, 0.8, false},
		"no warmer than before":         {TakeShift, 2, 0.5, true},
		"warmer":                        {TakeShift, 1, 4, false},
		"no reason of heat":             {TakeBits, 0.1, 0, true},
		"reasons of heat":               {TakeBits, 0.05, 0.4, false},
		"few errors":                    {TakeNow, 100, 1, true},
		"many errors":                   {TakeNow, 1, 100, false},
		"a fan at less than its peers'": {TakePeersRatio, 0.9, 0.5, false},
	} {
		if got := absent(&Feature{None: c.none, Full: c.full, Reading: &Reading{Take: c.take}}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	lowered := 0.98
	if absent(&Feature{None: 0.1, Full: 0.8, Reading: &Reading{Take: TakeRatio, Among: AmongShare, Below: &lowered}}) {
		t.Error("the part of the limits that were lowered is taken for none")
	}
}
