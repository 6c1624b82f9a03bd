package correlate

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// Version is the engine's version. It changes whenever the same log could give
// another answer; a snapshot of another version is refused (I5).
const Version = "0.45.0"

// calibration names the file in the rules with which confidences were fitted; the
// digest in incidents identifies its version.
const calibration = "weights.yaml"

// Config is what an engine is made of. It does not change while it runs, except
// by config records.
type Config struct {
	Site       string               // the site's name, part of every incident's id; "site" if empty
	Grid       telemetry.Duration   // the time step; 1 s if zero
	Lateness   telemetry.Lateness   // whole grids; the default classes if zero
	Catalogue  *telemetry.Catalogue // the default catalogue if nil
	Signatures []explain.Signature  // the faults it can name; without any, every root is unknown
	Rules      string               // digest of the signatures, carried by incidents
	// Study adds to the output the evidence of each judgement: what weights
	// are fitted to. It changes no answer.
	Study bool
	// ForEach runs the grid's kernels, by slices if the shell likes; one slice
	// if nil. It cannot change an answer (I8).
	ForEach window.ForEach
}

// withDefaults sets the defaults of fields that are zero.
func (c Config) withDefaults() Config {
	if c.Site == "" {
		c.Site = "site"
	}
	if c.Grid == 0 {
		c.Grid = 1e9
	}
	if c.Lateness == (telemetry.Lateness{}) {
		c.Lateness = telemetry.DefaultLateness()
	}
	if c.Catalogue == nil {
		c.Catalogue = telemetry.DefaultCatalogue()
	}
	if c.ForEach == nil {
		c.ForEach = window.Serial
	}
	return c
}

// Validate returns an error if a configuration is invalid.
func (c Config) Validate() error {
	if c.Grid <= 0 {
		return fmt.Errorf("engine config: grid %v: must be positive", c.Grid)
	}
	for class, l := range c.Lateness {
		if l < 0 || l%c.Grid != 0 {
			return fmt.Errorf("engine config: lateness %v of class %d: want whole grids of %v", l, class, c.Grid)
		}
		if l < c.Lateness[telemetry.Prompt] {
			return fmt.Errorf("engine config: lateness %v of class %d: shorter than the prompt class's %v", l, class, c.Lateness[telemetry.Prompt])
		}
	}
	return nil
}
