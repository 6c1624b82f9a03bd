package attribute

import (
	"cmp"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Cause is what a loss is attributed to: a root entity and what is wrong with it.
type Cause struct {
	Root      telemetry.Entity
	Signature string
	// Domain is the root's; zero where the root is not known.
	Domain telemetry.Domain
}

// Compare orders causes by domain, root and signature.
func (c Cause) Compare(o Cause) int {
	return cmp.Or(cmp.Compare(c.Domain, o.Domain), c.Root.Compare(o.Root), cmp.Compare(c.Signature, o.Signature))
}

func (c *Cause) snapshot(k *snapshot.Codec) {
	k.Entity(&c.Root)
	k.String(&c.Signature)
	codeDomain(k, &c.Domain)
}

// Coupling is a way by which a trouble passed from one domain to another, or
// went on inside one: a link of an incident's chain.
type Coupling struct {
	From, To telemetry.Domain
	Lag      float64 // seconds from the onset of the one to that of the other
}

func (c *Coupling) snapshot(k *snapshot.Codec) {
	codeDomain(k, &c.From)
	codeDomain(k, &c.To)
	k.F64(&c.Lag)
}

func isDomain(d telemetry.Domain) bool { return d >= telemetry.Software && d <= telemetry.Cooling }

// codeDomain writes or restores a domain, or zero.
func codeDomain(k *snapshot.Codec, d *telemetry.Domain) {
	k.U8((*uint8)(d))
	if *d > telemetry.Cooling {
		k.Fail(fmt.Errorf("ledger: domain %d", uint8(*d)))
		*d = 0
	}
}
