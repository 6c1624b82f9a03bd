package telemetry

import (
	"strings"
	"testing"
	"time"
)

// What the engine would refuse is refused where it is written.
func TestSiteConfigIsOneThatTheEngineTakes(t *testing.T) {
	for what, change := range map[string]func(*SiteConfig){
		"want 1 ms to 1 h":                    func(c *SiteConfig) { c.Grid = 0 },
		"want 0 to 24 h":                      func(c *SiteConfig) { c.Lateness[Slow] = 25 * time.Hour },
		"lateness_ns[1]: 15000000000: want w": func(c *SiteConfig) { c.Grid = 2 * time.Second },
		"lateness_ns[1]: 1000000000: want wh": func(c *SiteConfig) { c.Lateness[Delayed] = time.Second },
	} {
		c := DefaultSiteConfig()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		}
		if _, err := ParseSiteConfig(c.Record().Content); err == nil {
			t.Errorf("%s: parsed", what)
		}
	}
}
