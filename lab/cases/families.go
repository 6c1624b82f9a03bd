package cases

import (
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// Families lists the names of the families of worlds, in the order of reports.
func Families() []string {
	var out []string
	for _, f := range worlds.Families() {
		out = append(out, string(f))
	}
	return out
}

// ParseFamily returns the family of a name, or states which there are. The empty
// name is the standard site's.
func ParseFamily(name string) (worlds.Family, error) { return worlds.Parse(name) }

// healthyEach is every how many seeds of a family a run is healthy.
const healthyEach = 7

// stride deals the deck so that few consecutive seeds already take classes of
// every domain: the part of the golden ratio, as in low-discrepancy sequences.
const stride = 0.6180339887498949

// FamilyCases returns one case for each seed: every seed is a world of its own,
// so that as many worlds as possible are seen with a number of cases. Every
// seventh run is healthy. The others take their class and severity from a deck
// of all faults, risks and benign changes, whose order depends on the family:
// as many consecutive seeds as the deck has cards (DeckSize) hold every card.
func FamilyCases(family worlds.Family, gpus int, seeds []uint64) []Case {
	cards := deck()
	r := random.New(0)
	r = r.Named(string(family))
	offset := r.Below(len(cards))
	out := make([]Case, 0, len(seeds))
	for _, seed := range seeds {
		c := Case{Class: Healthy, GPUs: gpus, Seed: seed, World: family}
		if seed%healthyEach != 0 {
			dealt := int(seed - seed/healthyEach - 1)
			card := cards[(offset+dealt*coprime(len(cards)))%len(cards)]
			c.Class, c.Severity = card.Class, card.Severity
		}
		out = append(out, c)
	}
	return out
}

// DeckSize is how many classes with their severities FamilyCases deals.
func DeckSize() int { return len(deck()) }

// deck lists classes with their severities; Case's other fields are zero.
func deck() []Case {
	var out []Case
	for _, k := range fault.Kinds() {
		for _, s := range Severities(k.Name) {
			out = append(out, Case{Class: k.Name, Severity: s})
		}
	}
	return out
}

// coprime is the step nearest below stride·n that meets every card.
func coprime(n int) int {
	step := max(1, int(stride*float64(n)))
	for gcd(step, n) > 1 {
		step--
	}
	return step
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// named puts a fault under the names of the case's world.
func (b *Build) named(f score.Fault) score.Fault {
	n := b.stage.world().Names
	f.Entity = n.Entity(f.Entity)
	for i := range f.Accept {
		f.Accept[i] = n.Entity(f.Accept[i])
	}
	for i := range f.Victims {
		f.Victims[i] = n.Entity(f.Victims[i])
	}
	return b.seen(f)
}

// seen accepts a fan's node where the fan has no sensor: what it heats is all
// that is known of it.
func (b *Build) seen(f score.Fault) score.Fault {
	if f.Entity.Kind != telemetry.Fan || b.sensed[f.Entity] {
		return f
	}
	f.Accept = append(f.Accept, telemetry.Entity{Kind: telemetry.Node, Name: f.Entity.Prefix()})
	return f
}
