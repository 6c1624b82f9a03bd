package fault

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// settingKinds are switches, NICs and managers that are set wrongly.
func settingKinds() []Kind {
	return []Kind{
		{Name: "ecn-misconfig", Domain: "network", Expect: Incident, Loud: 1, Quiet: 0.3, Lag: [2]float64{0, 6},
			Severity: "how early a switch marks: down to 1/300 of the queue it should have; off knows no degree",
			Variants: []string{"eager", "off"},
			strike:   []telemetry.Kind{telemetry.Switch}, eligible: in(roce, onSwitches),
			write: func(w *writing) {
				if w.fault.Variant == 1 {
					w.set.Switches[w.sw].NoMarks = true
					return
				}
				multiply(&w.set.Switches[w.sw].Eager, stats.Exp(float64(-2.5*ln10*w.x)))
			}},
		{Name: "headroom-misconfig", Domain: "network", Expect: Incident, Quiet: 1, Lag: [2]float64{0, 10},
			Severity: "share of the lossless headroom that is missing",
			strike:   []telemetry.Kind{telemetry.Switch}, eligible: in(roce, onSwitches),
			write: func(w *writing) { multiply(&w.set.Switches[w.sw].Headroom, 1-w.x) }},
		{Name: "qos-misconfig", Domain: "network", Expect: Incident, Lag: [2]float64{0, 6},
			strike:   []telemetry.Kind{telemetry.Switch, telemetry.NIC},
			eligible: in(roce, func(s *Scene, job int) []telemetry.Entity { return append(onSwitches(s, job), onNICs(s, job)...) }),
			write: func(w *writing) {
				if w.sw >= 0 {
					w.set.Switches[w.sw].Class = true
					return
				}
				w.set.NICs[w.nic].Class = true
			}},
		{Name: "sm-failover", Domain: "network", Expect: Risk,
			strike: []telemetry.Kind{telemetry.SM}, eligible: in(infiniBand, onManagers),
			write: func(w *writing) { w.set.Subnet.Failover, w.set.Subnet.Fabric = true, w.fabric }},
	}
}

func onManagers(s *Scene, _ int) (out []telemetry.Entity) {
	for f := range s.Site.Fabrics {
		out = append(out, SubnetManager(f))
	}
	return out
}
