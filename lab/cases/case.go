package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// Severity is how much a fault is to cost.
type Severity string

// The severities. What a fault comes to is measured, and a case outside its
// band is dropped with its reason: physics does not allow every fault every
// band.
const (
	Loud   Severity = "loud"  // more than 30 % longer steps
	Quiet  Severity = "quiet" // 5 to 10 % longer steps
	Usual  Severity = ""      // of what has no severity: stalls, risks, benign changes, healthy runs
	LoudAt          = 0.30
	// QuietFrom and QuietTo bound the loss of a quiet fault.
	QuietFrom, QuietTo = 0.05, 0.10
)

// Seeds for tuning are 1 to 99, for reporting 1001 and on. Nothing may be tuned
// on the latter.
const (
	FirstTuningSeed   = 1
	LastTuningSeed    = 99
	FirstReportedSeed = 1001
)

// Healthy is the class of a run without a fault.
const Healthy = "healthy"

// Case is one run to be made. Equal cases make equal runs.
type Case struct {
	Class    string   `json:"class"`            // a fault's name, or Healthy
	Second   string   `json:"second,omitempty"` // of two faults at once, the other's name
	Apart    bool     `json:"apart,omitempty"`  // magnitudes and lags from fault.Parameters, which no signature is written against
	Severity Severity `json:"severity,omitempty"`
	GPUs     int      `json:"gpus"`
	Seed     uint64   `json:"seed"`
	// Coarsen lets every source but those of steps read so many times as rarely.
	Coarsen int `json:"coarsen,omitempty"`
	// Minutes of a healthy run; 0 is 15.
	Minutes int `json:"minutes,omitempty"`
	// World is the family that the site is drawn from, with the seed; "" is the
	// standard site.
	World worlds.Family `json:"world,omitempty"`
}

// Name is the case in one word, as scores list it: a directory has none like it.
func (c Case) Name() string {
	parts := []string{c.Group()}
	if c.World != worlds.Standard {
		parts = []string{string(c.World), c.Group()}
	}
	if c.Severity != Usual {
		parts = append(parts, string(c.Severity))
	}
	parts = append(parts, fmt.Sprintf("%d", c.GPUs), fmt.Sprintf("s%d", c.Seed))
	if c.Coarsen > 1 {
		parts = append(parts, fmt.Sprintf("x%d", c.Coarsen))
	}
	return strings.Join(parts, "-")
}

// Group is the class under which the case is scored.
func (c Case) Group() string {
	switch {
	case c.Second != "":
		return c.Class + "+" + c.Second
	case c.Apart:
		return c.Class + ".apart"
	}
	return c.Class
}

// digest names the case among others, given what else its outcome depends on.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
