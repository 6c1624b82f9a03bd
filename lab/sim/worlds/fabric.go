package worlds

import "github.com/quintet-dc/quintet/lab/sim/random"

// Transport is the kind of the network.
type Transport string

// The transports. AnyTransport is drawn as the standard site does.
const (
	AnyTransport Transport = ""
	Ethernet     Transport = "ethernet"
	InfiniBand   Transport = "infiniband"
)

// Spread describes how flows are spread over equal paths.
type Spread string

// The spreads. AnySpread is as at the standard site: paths picked so that a
// healthy placement does not collide, cabled by planes or rails and sometimes
// adaptive, as the seed determines.
const (
	AnySpread Spread = ""
	Hashed    Spread = "hashed"   // ECMP: a hash of the flow; flows collide in health
	Railed    Spread = "rails"    // rail-optimised cabling, paths picked
	Adaptive  Spread = "adaptive" // by load, flow by flow
)

// Fabric is the kind of the network and its routing.
type Fabric struct {
	Transport Transport
	Spread    Spread
	// Railed states that the cabling is by rails whatever Spread is.
	Railed bool
	// Oversubscription is how many times more cables go from a leaf to nodes than
	// to spines: 1 or 2; 0 is 1.
	Oversubscription int
}

// drawFabric draws the spreads with equal probability; rails under the other two
// and oversubscription of 2 in a third of the seeds each.
func drawFabric(r *random.Source) Fabric {
	f := Fabric{Spread: []Spread{Hashed, Railed, Adaptive}[r.Below(3)], Oversubscription: 1}
	f.Railed = f.Spread == Railed || r.Chance(1.0/3)
	if r.Chance(1.0 / 3) {
		f.Oversubscription = 2
	}
	return f
}

// drawShared draws a network on which jobs share links: hashed in two thirds of
// the seeds, oversubscribed in two thirds.
func drawShared(r *random.Source) Fabric {
	f := Fabric{Oversubscription: 1}
	if r.Chance(2.0 / 3) {
		f.Spread, f.Railed = Hashed, r.Chance(0.5)
	}
	if r.Chance(2.0 / 3) {
		f.Oversubscription = 2
	}
	return f
}

// Neighbours is what others send on the links of a job.
type Neighbours struct {
	// Phased states that jobs are in each other's way while they send, by what they
	// sent in the second before, instead of by their mean.
	Phased  bool
	Tenants []Tenant
}

// Tenant is traffic between spines and leaves of hosts that the site does not
// observe. It is on for Duty of each Period.
type Tenant struct {
	Share  float64 // of an uplink's speed while it is on: 0.05 to 0.25
	Period float64 // seconds: 2 to 90
	Duty   float64 // share of the period: 0.2 to 0.7
	Phase  float64 // periods by which it is ahead at second 0: 0 to 1
	First  int     // the uplinks that it uses: First, First+Each, First+2·Each, …
	Each   int
}

// drawNeighbours draws two to four tenants; ranges are ours.
func drawNeighbours(r *random.Source) Neighbours {
	n := Neighbours{Phased: true}
	for range 2 + r.Below(3) {
		t := Tenant{Share: r.Uniform(0.05, 0.25), Period: logUniform(r, 2, 90), Duty: r.Uniform(0.2, 0.7), Phase: r.Float64(), Each: 2 + r.Below(3)}
		t.First = r.Below(t.Each)
		n.Tenants = append(n.Tenants, t)
	}
	return n
}

// On returns the share of a second, counted from 0, in which a tenant sends.
func (t *Tenant) On(second int) float64 {
	const parts = 10
	on := 0
	for k := range parts {
		turn := (float64(second)+(float64(k)+0.5)/parts)/t.Period + t.Phase
		if turn-float64(int(turn)) < t.Duty {
			on++
		}
	}
	return float64(on) / parts
}
