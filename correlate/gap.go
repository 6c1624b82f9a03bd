package correlate

import (
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Gap is an interval in which nothing came from a source that had reported:
// nothing of what it states was seen in it.
type Gap struct {
	Source telemetry.Source
	From   telemetry.Time // of its last sample before
	To     telemetry.Time // of its first grid's samples again; zero while there is no data
}

// maxGaps bounds the gaps that are remembered; the oldest are forgotten first.
const maxGaps = 512

// Gaps returns the intervals in which sources sent no data, by when they were
// noticed.
func (e *Engine) Gaps() []Gap { return append([]Gap{}, e.memory.gaps...) }

// notice records when whole sources stop reporting and report again.
func (e *memory) notice(found []detect.Finding) {
	for i := range found {
		f := &found[i]
		if f.Slot >= 0 || f.Shape != telemetry.ShapeSilence {
			continue
		}
		source, err := telemetry.ParseSource(f.Series.Entity.Name)
		if err != nil {
			continue // a name that holds the separator: it is in the findings
		}
		if f.Ended == 0 {
			e.openGap(Gap{Source: source, From: f.Onset.Earliest})
			continue
		}
		e.closeGap(source, f.Onset.Earliest, f.Ended)
	}
}

func (e *memory) openGap(g Gap) {
	if len(e.gaps) == maxGaps {
		copy(e.gaps, e.gaps[1:])
		e.gaps = e.gaps[:maxGaps-1]
	}
	e.gaps = append(e.gaps, g)
}

// closeGap ends a gap where its source's samples begin again: in the grid that
// ended at by.
func (e *memory) closeGap(source telemetry.Source, from, by telemetry.Time) {
	for i := len(e.gaps) - 1; i >= 0; i-- {
		g := &e.gaps[i]
		if g.Source != source || g.From != from || g.To != 0 {
			continue
		}
		g.To = by
		for _, s := range e.sources() {
			if s.Source == source {
				g.To = min(s.Latest, by)
			}
		}
		return
	}
}

func codeGap(c *snapshot.Codec, g *Gap) {
	c.String(&g.Source.Collector)
	c.String(&g.Source.Target)
	c.String(&g.Source.Part)
	c.Time(&g.From)
	c.Time(&g.To)
}
