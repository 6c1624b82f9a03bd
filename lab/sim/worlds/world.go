package worlds

import (
	"fmt"
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/random"
)

// World is everything by which a simulated site differs from the standard one.
// The zero value is the standard site.
type World struct {
	Family      Family // it was drawn from; "" for the standard site
	Physics     Physics
	Noise       Noise
	Cadence     Cadence
	Instruments Instruments
	Jobs        Jobs
	Fabric      Fabric
	Neighbours  Neighbours
	Names       Names
}

// Family is one coherent kind of difference between sites.
type Family string

// The families.
const (
	Standard         Family = "" // no difference
	PhysicsFamily    Family = "physics"
	NoiseFamily      Family = "noise"
	CadenceFamily    Family = "cadence"
	VendorEthernet   Family = "vendor-ethernet"
	VendorInfiniBand Family = "vendor-infiniband"
	Facility         Family = "facility"
	JobsFamily       Family = "jobs"
	Routing          Family = "routing"
	NeighbourFamily  Family = "neighbours"
	NamesCold        Family = "names-cold"
)

// Families returns all families but Standard, in the order of reports.
func Families() []Family {
	return []Family{PhysicsFamily, NoiseFamily, CadenceFamily, VendorEthernet, VendorInfiniBand, Facility, JobsFamily, Routing,
		NeighbourFamily, NamesCold}
}

// Parse returns the family of a name. The empty name is Standard.
func Parse(name string) (Family, error) {
	if name == "" {
		return Standard, nil
	}
	var known []string
	for _, f := range Families() {
		if string(f) == name {
			return f, nil
		}
		known = append(known, string(f))
	}
	return Standard, fmt.Errorf("world family %q: not found: want one of %s", name, strings.Join(known, ", "))
}

// Draw returns the world of a family and a seed. Equal arguments give equal
// worlds. The draws of one family do not depend on those of another.
func Draw(f Family, seed uint64) World {
	w := World{Family: f}
	root := random.New(seed)
	r := root.Named("world/" + string(f))
	switch f {
	case PhysicsFamily:
		w.Physics = drawPhysics(&r)
	case NoiseFamily:
		w.Noise = drawNoise(&r)
	case CadenceFamily:
		w.Cadence, w.Jobs = drawCadence(&r)
	case VendorEthernet:
		w.Fabric.Transport, w.Instruments = Ethernet, drawEthernet(&r)
	case VendorInfiniBand:
		w.Fabric.Transport, w.Instruments = InfiniBand, drawInfiniBand(&r)
	case Facility:
		w.Instruments = drawFacility(&r)
	case JobsFamily:
		w.Jobs, w.Neighbours.Phased, w.Fabric = drawJobs(&r), true, drawShared(&r)
	case Routing:
		w.Fabric = drawFabric(&r)
	case NeighbourFamily:
		w.Neighbours = drawNeighbours(&r)
	case NamesCold:
		w.Names, w.Jobs.Lead = drawNames(&r), drawLead(&r)
	}
	return w
}
