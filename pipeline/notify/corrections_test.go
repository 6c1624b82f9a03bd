package notify_test

import (
	"slices"
	"testing"
	"testing/synctest"
)

// TestCorrections: a receiver gets the first revision, those that correct it, and
// the end; one with figures enabled gets all.
func TestCorrections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, few, all := newMemory(), newEar("few"), newEar("all")
		c := config(m, few, all)
		c.Receivers[0].Corrections = true
		stop := start(t, c)
		synctest.Wait()
		x := trouble{id: "inc-nic", root: "nic:h1/n0", jobs: []string{"job:train"}}
		step := func(state string) {
			x.say(t, m, state)
			synctest.Wait()
		}
		step(opened)
		step(opened) // figures
		step(opened) // figures
		x.signature = "pcie-downgrade"
		step(opened)
		step(opened) // figures
		x.jobs = append(x.jobs, "job:other")
		step(opened)
		x.jobs = []string{"job:other", "job:train"} // in another order
		step(opened)
		step(resolved)
		told(t, few, "inc-nic.1", "inc-nic.4", "inc-nic.6", "inc-nic.8")
		told(t, all, "inc-nic.1", "inc-nic.2", "inc-nic.3", "inc-nic.4", "inc-nic.5", "inc-nic.6", "inc-nic.7", "inc-nic.8")
		want := []string{"delivered", "unchanged", "unchanged", "delivered", "unchanged", "delivered", "unchanged", "delivered"}
		if got := why(t, m, "inc-nic", "few"); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		stop()
	})
}
