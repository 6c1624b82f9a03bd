package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
)

// Route names the receivers of matching revisions. The first that matches decides,
// and those after it too if Continue is set.
type Route struct {
	Match     match.Matchers // none: everything
	Receivers []string
	Continue  bool // look at the routes behind it, too
}

// Flaps configures from when on a flapping incident is withheld: at Start changes
// of state within Window, until there are no more than Stop. A Start of zero means
// never.
type Flaps struct {
	Window      time.Duration
	Start, Stop int
}

// maxFlapStart bounds how many changes are counted.
const maxFlapStart = 100

func (f Flaps) validate() error {
	if f.Start == 0 {
		return nil
	}
	if f.Window <= 0 || f.Window > 7*24*time.Hour || f.Start < 2 || f.Start > maxFlapStart || f.Stop < 0 || f.Stop >= f.Start {
		return fmt.Errorf("flaps: %d changes, then %d, within %v: want 2 to %d, fewer to stop, and at most a week", f.Start, f.Stop, f.Window, maxFlapStart)
	}
	return nil
}

// routed reports whether the routes lead to a receiver. Without any, everything is
// sent to every receiver.
func (c *Config) routed(receiver string, f match.Facts) bool {
	for _, r := range c.Routes {
		if !r.Match.Match(f) {
			continue
		}
		if slices.Contains(r.Receivers, receiver) {
			return true
		}
		if !r.Continue {
			return false
		}
	}
	return len(c.Routes) == 0
}

// validateRoutes returns an error if the routes are invalid.
func (c *Config) validateRoutes(known map[string]bool) error {
	for i, r := range c.Routes {
		for _, name := range r.Receivers {
			if !known[name] {
				return fmt.Errorf("notify: routes[%d]: there is no receiver %.80q", i, name)
			}
		}
	}
	return c.Flaps.validate()
}

// refused returns why a revision by itself is not sent to a receiver, or "".
func (d *desk) refused(rev *revision) string {
	switch {
	case !d.r.wants(rev):
		return fmt.Sprintf("the receiver is configured for neither %s nor %s of that kind", rev.Severity, rev.Kind)
	case !d.c.routed(d.r.Name, rev.facts):
		return "no route leads to the receiver"
	}
	return ""
}
