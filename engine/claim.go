package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Claim is the content of a config record with key telemetry.ConfigEngine: a
// replica states that from here on it publishes, and with it every replica whose
// state is the same. See the package comment.
type Claim struct {
	Engine  string `json:"engine"` // version
	Rules   string `json:"rules"`  // digest
	Replica string `json:"replica"`
	// Over is the digest of the claim that was in force as far as the replica knew;
	// "" if none was stated since From. A claim over any other but the one in force
	// counts for nothing: of two at a time the first is in force.
	Over string `json:"over,omitempty"`
	// From is the position of the first record from which the replica's state was
	// made, cold; 0 if it began with a snapshot. Who began there, too, has the
	// same state.
	From uint64 `json:"from,omitempty"`
	// Whole states that nothing was published before: all since From counts.
	Whole bool `json:"whole,omitempty"`
	// Incidents are the newest published revisions that the engine continues.
	Incidents []explain.Incident `json:"held,omitempty"`
	// Renews is set instead of the three above in a claim that only repeats the
	// one of that digest, so that the log does not forget it.
	Renews string `json:"renews,omitempty"`
}

// Limits of the content of Incidents; more is a mistake, and must not reach a sum.
const (
	maxIncidentSeconds = 1e9
	maxIncidentLoss    = 1e15
)

// Validate reports what is wrong with a claim.
func (c *Claim) Validate() error {
	switch {
	case c.Engine == "":
		return errors.New("claim: no engine version")
	case c.Renews != "" && (c.Over != "" || c.Whole || len(c.Incidents) > 0):
		return errors.New("claim: renews one and is another")
	case c.Whole && len(c.Incidents) > 0:
		return errors.New("claim: nothing was published before, and yet incidents are listed")
	}
	seen := map[string]bool{}
	for i := range c.Incidents {
		in := &c.Incidents[i]
		if err := incidentSound(in); err != nil {
			return fmt.Errorf("claim: incident %d, %.40q: %w", i, in.ID, err)
		}
		if seen[in.ID] {
			return fmt.Errorf("claim: incident %d, %.40q: duplicate", i, in.ID)
		}
		seen[in.ID] = true
	}
	return nil
}

func incidentSound(in *explain.Incident) error {
	switch {
	case in.ID == "" || in.Revision < 1:
		return errors.New("no id or no revision")
	case in.State != explain.StateOpen && in.State != explain.StateResolved:
		return fmt.Errorf("state %.40q", in.State)
	}
	for _, j := range in.Impact.Jobs {
		if err := j.Job.Validate(); err != nil {
			return err
		}
		if !(j.GPUSecondsLost >= 0 && j.GPUSecondsLost <= maxIncidentLoss) {
			return fmt.Errorf("%s lost %g GPU-seconds", j.Job, j.GPUSecondsLost)
		}
		for _, x := range []*float64{j.Before, j.Now, j.Expected} {
			if x != nil && !(*x > 0 && *x <= maxIncidentSeconds) {
				return fmt.Errorf("step of %s: %g s", j.Job, *x)
			}
		}
	}
	return nil
}

// Config returns the claim as the body of a config record.
func (c *Claim) Config(received telemetry.Time) (*telemetry.Config, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return telemetry.NewConfig(telemetry.ConfigEngine, received, b), nil
}

// ParseClaim reads what Config writes. Unknown fields are a later version's.
func ParseClaim(content []byte) (*Claim, error) {
	c := &Claim{}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(c); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return c, c.Validate()
}

// Reign is the claim in force: which replica publishes. The zero value means that
// none does.
type Reign struct {
	Digest  string `json:"digest"` // of the claim's content, in hexadecimal
	Engine  string `json:"engine"`
	Rules   string `json:"rules"`
	Replica string `json:"replica"`
	From    uint64 `json:"from"`
	Whole   bool   `json:"whole"`
	// Since is the position of the claim, 0 where only a renewal of it was read.
	Since uint64 `json:"since"`
	// Guessed states that the claim replaced one that is not in the log any more: a
	// renewal of another one takes precedence.
	Guessed bool `json:"guessed"`
	// Position is the position of the claim or of its last renewal.
	Position uint64 `json:"heard"`
}

// Reign returns the claim in force after the last record applied.
func (r *Runner) Reign() Reign { return r.reign }

// Identity returns the engine's version and the digest of its rules.
func (r *Runner) Identity() (version, rules string) { return r.identity.version, r.identity.rules }

// Names reports whether the claim names this runner's engine and rules.
func (r *Runner) Names(g Reign) bool {
	return g.Digest != "" && g.Engine == r.identity.version && g.Rules == r.identity.rules
}

// claimed takes a config record that may be a claim. One that cannot be read
// belongs to another program.
func (r *Runner) claimed(record *telemetry.Config) {
	if record.Key != telemetry.ConfigEngine {
		return
	}
	c, err := ParseClaim(record.Content)
	if err != nil {
		return
	}
	known := r.reign.Digest != ""
	next := Reign{Digest: hex.EncodeToString(record.Digest[:]), Engine: c.Engine, Rules: c.Rules, Replica: c.Replica, From: c.From, Whole: c.Whole,
		Since: r.position, Guessed: !known && c.Over != "", Position: r.position}
	switch {
	case c.Renews != "" && c.Renews == r.reign.Digest:
		r.reign.Guessed, r.reign.Position = false, r.position
	case c.Renews != "" && (!known || r.reign.Guessed):
		next.Digest, next.From, next.Whole, next.Since = c.Renews, 0, false, 0
		r.reign = next
	case c.Renews != "":
		// by one who has not read yet that it was replaced
	case !known, c.Over == r.reign.Digest, c.Over == "" && c.From > r.reign.Position:
		// The last is by one who began behind the last renewal of the claim in
		// force.
		r.reign = next
		if r.Names(next) && !c.Whole {
			r.warmStart(c.Incidents, record.Digest)
		}
	}
}

// warmStart continues what was published by others: a new chain begins.
func (r *Runner) warmStart(open []explain.Incident, digest [sha256.Size]byte) {
	r.machine.WarmStart(open)
	r.digest, r.latest = digest, map[string]*explain.Incident{}
	for i := range open {
		in := keep(open[i])
		r.latest[in.ID] = &in
	}
}
