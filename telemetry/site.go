package telemetry

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// SiteConfig is the content of a config record with key ConfigSite: what the
// whole engine is set to. It is written as one JSON object with the keys site,
// grid_ns and lateness_ns (four lengths, in the order of LatenessClass).
type SiteConfig struct {
	Site     string   `json:"site"`
	Grid     Duration `json:"grid_ns"`
	Lateness Lateness `json:"lateness_ns"`
}

// DefaultSiteConfig returns a grid of 1 s and the default lateness classes.
func DefaultSiteConfig() SiteConfig {
	return SiteConfig{Site: "site", Grid: time.Second, Lateness: DefaultLateness()}
}

// Validate reports what is wrong with c: a grid outside [1 ms, 1 h], a lateness
// that is negative or beyond one day.
func (c SiteConfig) Validate() error {
	if c.Grid < time.Millisecond || c.Grid > time.Hour {
		return fmt.Errorf("site config: grid_ns: %d: want 1 ms to 1 h", c.Grid)
	}
	for i, l := range c.Lateness {
		if l < 0 || l > 24*time.Hour {
			return fmt.Errorf("site config: lateness_ns[%d]: %d: want 0 to 24 h", i, l)
		}
		if l%c.Grid != 0 || l < c.Lateness[Prompt] {
			return fmt.Errorf("site config: lateness_ns[%d]: %d: want whole grids of %v, and no fewer than the prompt class's", i, l, c.Grid)
		}
	}
	return nil
}

// Record returns c as a config record's body, with its digest.
func (c SiteConfig) Record() *Config {
	b, err := json.Marshal(c)
	if err != nil { // cannot happen: the fields are a string and integers
		b = nil
	}
	return &Config{Key: ConfigSite, Digest: sha256.Sum256(b), Content: b}
}

// ParseSiteConfig reads what Record writes; an absent key keeps its default,
// an unknown one is an error.
func ParseSiteConfig(content []byte) (SiteConfig, error) {
	c := DefaultSiteConfig()
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("site config: %w", err)
	}
	return c, c.Validate()
}
