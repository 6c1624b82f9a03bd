package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxHoles bounds the holes of the log that are remembered; the oldest are forgotten
// first.
const maxHoles = 256

// Holes returns what the log lost, in the order of the records that report it. To is
// zero where no tick has come since.
func (e *Engine) Holes() []telemetry.Hole { return slices.Clone(e.memory.holes) }

// lose records entries that the log lost. A record without times is in their place.
func (e *memory) lose(content []byte) {
	h, err := telemetry.ParseHole(content)
	if err != nil {
		e.counts.ConfigRefused++
		return
	}
	if h.From == 0 {
		h.From = e.at
	}
	if slices.ContainsFunc(e.holes, func(k telemetry.Hole) bool { return k.First == h.First && k.Last == h.Last }) {
		return
	}
	if len(e.holes) == maxHoles {
		e.holes = slices.Delete(e.holes, 0, 1)
	}
	e.holes = append(e.holes, h)
}

// endHoles gives the holes that a tick is the first to follow their end, and those
// before every tick their begin.
func (e *memory) endHoles(tick telemetry.Time) {
	for i := range e.holes {
		if h := &e.holes[i]; h.To == 0 {
			h.From, h.To = cmp.Or(h.From, tick), tick
		}
	}
}

// missing lists the holes of the log that an answer about an interval may depend on.
func (e *memory) missing(from, to telemetry.Time) []explain.Missing {
	var out []explain.Missing
	for _, h := range e.holes {
		if h.From <= to && h.To >= from && h.To != 0 {
			out = append(out, explain.Missing{Site: e.site(), From: h.From, To: h.To, Entries: h.Last - h.First + 1})
		}
	}
	return out
}

// site is the site as an entity; where its name cannot be one, it is called site.
func (e *sight) site() telemetry.Entity {
	if s := (telemetry.Entity{Kind: telemetry.Site, Name: e.cfg.Site}); s.Validate() == nil {
		return s
	}
	return telemetry.Entity{Kind: telemetry.Site, Name: "site"}
}

func codeHole(c *snapshot.Codec, h *telemetry.Hole) {
	c.U64(&h.First)
	c.U64(&h.Last)
	c.Time(&h.From)
	c.Time(&h.To)
}
