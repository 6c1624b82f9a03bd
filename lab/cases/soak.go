package cases

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/world"
)

// Soak is the class of long healthy runs in which benign look-alikes come and
// go: whatever is reported about them is false.
const Soak = "soak"

const (
	soakMinutes = 360                // of one run
	soakEvery   = 1800.0             // seconds between the beginnings of two look-alikes, in the mean
	soakLeast   = 240.0              // seconds one lasts at least …
	soakMost    = 1200.0             // … and at most
	soakStart   = usualHealth + 60.0 // of the first
)

// firstSoak is how far from the first reported seed those of a soak begin: what
// those before had brought was looked at, and the engine mended for it
// (docs/decisions/0037).
const firstSoak = 5000

// SoakCases are so many hours of healthy noise, in runs of six hours or less.
func SoakCases(hours, gpus int, tuning bool) []Case {
	var out []Case
	minutes := 60 * hours
	for _, seed := range Seeds((minutes+soakMinutes-1)/soakMinutes, tuning) {
		if !tuning {
			seed += firstSoak
		}
		out = append(out, Case{Class: Soak, GPUs: gpus, Seed: seed, Minutes: min(soakMinutes, minutes)})
		minutes -= soakMinutes
	}
	return out
}

// soak draws which look-alikes come when.
func (m *maker) soak(c Case) (*Build, error) {
	minutes := c.Minutes
	if minutes == 0 {
		minutes = soakMinutes
	}
	b := &Build{Case: c, stage: c.stage(), Until: 60 * minutes}
	w, err := world.New(b.stage.config())
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.Name(), err)
	}
	b.scene = b.stage.scene(w, nil)
	var benign []string
	for _, k := range fault.Kinds() {
		// A job that starts does not run before; one that stops starts again.
		if k.Expect == fault.Benign && k.Name != "job-start" {
			benign = append(benign, k.Name)
		}
	}
	r := c.draws("soak")
	for t := soakStart; ; t += r.Exponential(soakEvery) {
		n := len(b.Faults)
		if n > 0 {
			t = max(t, b.Faults[n-1].End+120)
		}
		length := r.Uniform(soakLeast, soakMost)
		if t+length+usualAfter > float64(b.Until) {
			return b, nil
		}
		k := fault.Find(benign[r.Below(len(benign))])
		if !b.place(k, fmt.Sprintf("soak/%d", n), -1) {
			continue
		}
		f := &b.Faults[n]
		f.Onset, f.End, f.Ramp, f.Severity = t, t+length, min(f.Ramp, length/2), r.Uniform(0.1, 1)
	}
}
