package explain

import "github.com/quintet-dc/quintet/telemetry"

// Reading is a number that a feature reads from telemetry itself: the value of one
// metric, or of one kind of event, of the candidate root or of what is around it,
// during the job's degradation (now) against the time before it (before).
//
// It is read per entity and then, where the scope is many, made one number by
// Among. It cannot loop: every reading is one pass over a bounded list.
type Reading struct {
	Metric telemetry.MetricName // or Event
	Event  string               // the name of an event; the value is how many happened
	Text   string               // with Event: what its text begins with; "" is any
	Of     Scope
	Kind   telemetry.Kind // with Under, Over and Ranks: which kind of entity is read; "" with Over is any
	Take   Take
	Bits   uint64 // with TakeBits: any of them
	Among  Among
	// Above or Below, one of them, with Among share: the part of the entities
	// whose number is above or below it.
	Above, Below *float64
}

// Counts reports whether an entity's number is one of those whose share is read.
func (r *Reading) Counts(v float64) bool {
	return r.Above != nil && v > *r.Above || r.Below != nil && v < *r.Below
}

// Scope is whose metric is read, seen from the candidate root.
type Scope string

// The scopes.
const (
	OfRoot   Scope = "root"   // its own
	OfNode   Scope = "node"   // the host that contains it
	OfUnder  Scope = "under"  // what it contains, feeds, cools or runs on, of a kind, at any depth, as far as the degraded job uses it; of loops every one
	OfOver   Scope = "over"   // what contains, feeds or cools it, of a kind or any, at any depth
	OfBeside Scope = "beside" // what the degraded job uses of a kind and is not under it: the contrast
	OfFacing Scope = "facing" // the other end of its link; of a switch the other ends of its cables
	OfJob    Scope = "job"    // the degraded job
	OfRanks  Scope = "ranks"  // the degraded job's ranks
)

// Take is what number is made of one entity's metric.
type Take string

// The takes. Peers are the entities of the same kind that the degraded job uses, or
// that are under the same rack, row, loop, switch or tier where it uses fewer than
// four.
const (
	TakeNow            Take = "now"             // mean during the degradation
	TakeBefore         Take = "before"          // mean before it; of an event, how many happened by its onset: a cause comes first
	TakeShift          Take = "shift"           // now − before, in the metric's unit
	TakeRatio          Take = "ratio"           // now ÷ before
	TakePeers          Take = "peers"           // shift − the median peer's shift
	TakePeersRatio     Take = "peers_ratio"     // ratio ÷ the median peer's ratio
	TakePeersExplained Take = "peers_explained" // (peers_ratio − 1) ÷ (step ÷ expected step − 1)
	TakeBelowPeers     Take = "of_peers"        // now ÷ the median peer's now: a lasting difference
	TakeMost           Take = "most"            // highest during the degradation
	TakeLeast          Take = "least"           // lowest during the degradation
	TakeBits           Take = "bits"            // share of the grids of the degradation in which any of Bits was set, less that before
	TakeNoData         Take = "no_data"         // 1 if anything of the entity was reported before and all of it is stale, 0 if it is reported
	TakeExplained      Take = "explained"       // shift ÷ what the job's step exceeds the expected one by: of seconds in a step, 1 explains the loss
)

// Among is how the numbers of many entities become one.
type Among string

// The ways to make one number of many entities'.
const (
	AmongMedian Among = "median" // of them; the default
	AmongMost   Among = "most"   // the highest
	AmongLeast  Among = "least"  // the lowest
	AmongSum    Among = "sum"
	AmongShare  Among = "share" // the part of them that is above Above or below Below
)

// WordDoc documents a keyword for people who write signatures.
type WordDoc[T any] struct {
	Word T
	Text string // the word as a file writes it
	Doc  string
}

// Many reports whether a scope holds more than one entity.
func (s Scope) Many() bool { return s != OfRoot && s != OfNode && s != OfJob }

// Scopes lists the scopes with their meanings.
func Scopes() []WordDoc[Scope] {
	return documented(
		[]Scope{OfRoot, OfNode, OfUnder, OfOver, OfBeside, OfFacing, OfJob, OfRanks},
		"the candidate root",
		"the host that contains it, itself if it is one",
		"what it contains, feeds, cools or runs on, of a `kind`, at any depth, as far as the degraded job uses it",
		"what contains, feeds or cools it, of a `kind` or of any, at any depth",
		"what the degraded job uses of a `kind` and is not under it: the contrast",
		"the other end of its link; of a switch the other ends of its cables",
		"the degraded job",
		"the degraded job's ranks",
	)
}

// Takes lists the takes with their meanings.
func Takes() []WordDoc[Take] {
	return documented(
		[]Take{TakeNow, TakeBefore, TakeShift, TakeRatio, TakePeers, TakePeersRatio, TakePeersExplained, TakeBelowPeers, TakeMost, TakeLeast, TakeBits, TakeNoData, TakeExplained},
		"mean during the degradation; of an event how often it happened from a little before the degradation on",
		"mean before the degradation",
		"now less before, in the metric's unit (a counter's is its rate)",
		"now over before",
		"its shift less that of the median peer",
		"its ratio over that of the median peer",
		"what it has of a share of time beyond the median peer, over what the step became longer by: 1 where its peers wait for all of that time and it does not",
		"its now over that of the median peer: a lasting difference, for what was so before the job began, too",
		"the highest value of a grid during the degradation",
		"the lowest",
		"share of the degradation in which any of `bits` was set, less the share before it",
		"1 if anything of the entity was reported before and all of it is stale, 0 if it is reported",
		"its shift over what the job's step exceeds the expected one by: of seconds in a step, 1 explains the loss",
	)
}

// Amongs lists the ways to make one number of many entities'.
func Amongs() []WordDoc[Among] {
	return documented(
		[]Among{AmongMedian, AmongMost, AmongLeast, AmongSum, AmongShare},
		"the median of them; the default", "the highest", "the lowest", "their sum",
		"the part of them that is `above` or `below` a number",
	)
}

func documented[T ~string](words []T, docs ...string) []WordDoc[T] {
	out := make([]WordDoc[T], len(words))
	for i, w := range words {
		out[i] = WordDoc[T]{w, string(w), docs[i]}
	}
	return out
}

// Kinds returns the kinds of entity that it can read, for a signature whose
// roots are of the given kinds.
func (x *Reading) Kinds(roots []telemetry.Kind) []telemetry.Kind {
	switch x.Of {
	case OfRoot:
		return roots
	case OfNode:
		return []telemetry.Kind{telemetry.Node}
	case OfJob:
		return []telemetry.Kind{telemetry.Job}
	case OfRanks:
		return []telemetry.Kind{telemetry.Rank}
	case OfFacing:
		return []telemetry.Kind{telemetry.NIC, telemetry.Port}
	}
	if x.Kind == "" {
		return telemetry.Kinds()
	}
	return []telemetry.Kind{x.Kind}
}
