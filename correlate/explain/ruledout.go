package explain

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// ruledOut lists which domains are ruled out and why, as far as they were seen. A
// domain of which nothing was seen is not ruled out: it is unknown.
func ruledOut(e *Evidence, best *Answer) []RuledOut {
	out := []RuledOut{}
	if best.Signature == nil {
		return out
	}
	if best.Signature.Domain != telemetry.Network && e.Fabric != nil {
		if why, ok := quietFabric(e); ok {
			out = append(out, RuledOut{telemetry.Network, why})
		}
	}
	if best.Signature.Domain != telemetry.Software {
		if why, ok := punctual(e); ok {
			out = append(out, RuledOut{telemetry.Software, why})
		}
	}
	if e.Symptoms == nil {
		return out
	}
	for _, d := range []telemetry.Domain{telemetry.Computing, telemetry.Power, telemetry.Cooling} {
		if why, ok := e.Symptoms.Quiet(d); ok && d != best.Signature.Domain {
			out = append(out, RuledOut{d, why})
		}
	}
	return out
}

// ruledOutShare is the share of the time for which a port may receive pause, or
// have a queue beyond before, while the network is still ruled out: so much occurs
// by chance where a queue is read every few seconds. A network that waits for more
// may be a victim, but the claim that it is not involved would be unfounded.
const ruledOutShare = 0.1

// quietFabric describes how little queueing there was on the job's paths, where
// pause received by the ports is counted.
func quietFabric(e *Evidence) (string, bool) {
	var received, own float64
	ports := 0
	for i, on := range e.Fabric.OnPath {
		if n := &e.Fabric.Now.Of[i]; on && n.Counted > 0 {
			ports++
			received = max(received, n.PauseReceived)
			own = max(own, e.Fabric.Now.Own(e.Fabric.Before, i))
		}
	}
	if ports == 0 || max(received, own) > ruledOutShare {
		return "", false
	}
	stopped, queued := "", ""
	if received >= leastPercent {
		stopped = fmt.Sprintf(" for more than %s of the time", Percent(received))
	}
	if own >= leastPercent {
		queued = fmt.Sprintf(" more than %s", Percent(own))
	}
	return fmt.Sprintf("of %d ports on the job's paths none received pause%s, and none had a queue%s longer than before", ports, stopped, queued), true
}

// leastPercent is the least share that does not round to 0 %.
const leastPercent = 0.005

// punctual states that every rank computes as long as before.
func punctual(e *Evidence) (string, bool) {
	var worst float64
	seen := 0
	for _, h := range e.Hosts {
		if h.HasCompute && h.ComputeBefore > 0 {
			seen++
			worst = max(worst, h.ComputeNow/h.ComputeBefore-1)
		}
	}
	if seen == 0 || worst > 0.05 {
		return "", false
	}
	return fmt.Sprintf("all %d hosts that report their compute time compute as long as before, within %.1f %%", seen, float64(worst*100)), true
}
