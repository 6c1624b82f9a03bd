package explain

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// ruledOut says which domains are innocent and why, as far as they were seen.
// A domain of which nothing was seen is not innocent: it is unknown.
func ruledOut(e *Evidence, best *Answer) []RuledOut {
	out := []RuledOut{}
	if best.Signature == nil {
		return out
	}
	if best.Signature.Domain != telemetry.Network && e.Fabric != nil {
		out = append(out, RuledOut{telemetry.Network, quietFabric(e)})
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

// quietFabric tells how little traffic stood on the job's paths.
func quietFabric(e *Evidence) string {
	var told, own float64
	for i, on := range e.Fabric.OnPath {
		if on {
			told = max(told, e.Fabric.Now.Of[i].Told)
			own = max(own, e.Fabric.Now.Own(e.Fabric.Before, i))
		}
	}
	return fmt.Sprintf("on the job's paths no port was told to stop more than %s of the time, and none had traffic standing more than %s longer than before",
		percent(told), percent(own))
}

// punctual tells that every rank computes as long as before.
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
	return fmt.Sprintf("all %d hosts that tell their compute time compute as long as before, within %.1f %%", seen, float64(worst*100)), true
}
