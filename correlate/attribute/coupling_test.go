package attribute_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/telemetry"
)

func link(from, to telemetry.Domain, lag float64) attribute.Coupling {
	return attribute.Coupling{From: from, To: to, Lag: lag}
}

// TestCouplingIsWhatPassedThroughTheLinks: coolant fails, clocks fall, steps are
// long; elsewhere a nic alone.
func TestCouplingIsWhatPassedThroughTheLinks(t *testing.T) {
	hot := account(cause(t, "loop:r1/a", "coolant-flow-loss", telemetry.Cooling), noon.Add(-hour), noon, 600)
	hot.Links = []attribute.Coupling{link(telemetry.Cooling, telemetry.Cooling, 12), link(telemetry.Cooling, telemetry.Computing, 3), link(telemetry.Computing, telemetry.Software, 1)}
	hotter := account(cause(t, "loop:r2/a", "coolant-flow-loss", telemetry.Cooling), noon.Add(-hour), noon, 900)
	hotter.Links = []attribute.Coupling{link(telemetry.Cooling, telemetry.Computing, 9), link(telemetry.Computing, telemetry.Software, 2)}
	slow := account(cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), noon.Add(-hour), noon, 300)
	slow.Links = []attribute.Coupling{link(telemetry.Network, telemetry.Network, 0), link(telemetry.Network, telemetry.Network, 0), link(telemetry.Network, telemetry.Software, 4)}
	who := account(cause(t, "node:h7", "unknown", 0), noon.Add(-hour), noon, 50)

	var l attribute.Ledger
	l.Close(entity(t, "job:a"), hot, noon)
	l.Close(entity(t, "job:b"), hotter, noon)
	m := l.Coupling(window(t, day, noon), []attribute.Open{{Job: entity(t, "job:c"), Account: slow}, {Job: entity(t, "job:d"), Account: who}})

	const software, computing, network, cooling = 0, 1, 2, 4
	want := map[[2]int]float64{{cooling, cooling}: 600, {cooling, computing}: 1500, {computing, software}: 1500, {network, network}: 300, {network, software}: 300}
	lags := map[[2]int]float64{{cooling, cooling}: 12, {cooling, computing}: 9, {computing, software}: 2, {network, network}: 0, {network, software}: 4}
	for i := range 5 {
		for j := range 5 {
			at := [2]int{i, j}
			equal(t, m.Domains[i].String()+" to "+m.Domains[j].String(), m.Coupling[i][j], want[at])
			lag, ok := lags[at]
			if ok != (m.Lag[i][j] != nil) || ok && *m.Lag[i][j] != lag {
				t.Errorf("lag of %v to %v: %v, want %v", m.Domains[i], m.Domains[j], m.Lag[i][j], lag)
			}
		}
	}
	equal(t, "total", m.Total, 1850)
	equal(t, "unlinked", m.Unlinked, 50)

	early := l.Coupling(window(t, 30*minute, noon), nil)
	equal(t, "in the last half hour", early.Coupling[cooling][computing], 750)
}

// TestNoCouplingExceedsTheLoss, and removing an incident lowers no other's.
func TestNoCouplingExceedsTheLoss(t *testing.T) {
	a := account(cause(t, "loop:r1/a", "coolant-flow-loss", telemetry.Cooling), noon.Add(-hour), noon, 600)
	b := account(cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), noon.Add(-hour), noon, 300)
	for _, x := range []*attribute.Account{a, b} {
		for range 4 { // one link as often as it likes
			x.Links = append(x.Links, link(x.Cause.Domain, telemetry.Software, 1))
		}
	}
	var l attribute.Ledger
	both := l.Coupling(window(t, day, noon), []attribute.Open{{Job: train, Account: a}, {Job: train, Account: b}})
	one := l.Coupling(window(t, day, noon), []attribute.Open{{Job: train, Account: a}})
	for i := range 5 {
		for j := range 5 {
			if both.Coupling[i][j] > both.Total || one.Coupling[i][j] > both.Coupling[i][j] {
				t.Errorf("%d to %d: %v of %v, alone %v", i, j, both.Coupling[i][j], both.Total, one.Coupling[i][j])
			}
		}
	}
	equal(t, "cooling to software", one.Coupling[4][0], 600)
}
