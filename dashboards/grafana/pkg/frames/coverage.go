package frames

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// MaxLanes is how many sources a timeline shows: those with gaps first.
const MaxLanes = 100

const (
	receiving = "heard"
	noData    = "silent"
)

func coverageColours() data.ValueMappings {
	return data.ValueMappings{data.ValueMapper{
		receiving: {Text: receiving, Color: "semi-dark-green", Index: 0},
		noData:    {Text: noData, Color: "dark-orange", Index: 1},
	}}
}

// Coverage makes a table of the sources, stale ones first.
func Coverage(c *client.SourceList, now time.Time) *data.Frame {
	list := slices.Clone(c.Sources)
	slices.SortStableFunc(list, func(a, b client.Source) int { return staleFirst(a.Silent, b.Silent) })
	n := len(list)
	state, collector := text("state", n), text("collector", n).called("Collector")
	target, part := text("target", n).called("Target"), text("part", n).called("Part")
	series, latest, age := count("series", n).called("Series"), optionalMoment("latest", n), number("age_seconds", n)
	cadence, offset := number("cadence_seconds", n), number("clock_offset_seconds", n)
	for r, s := range list {
		state.Set(r, receiving)
		if s.Silent {
			state.Set(r, noData)
		}
		collector.Set(r, s.Collector)
		target.Set(r, s.Target)
		part.Set(r, s.Part)
		series.Set(r, s.Series)
		latest.Set(r, s.Latest)
		if s.Latest != nil {
			old := now.Sub(*s.Latest).Seconds()
			age.Set(r, &old)
		}
		cadence.Set(r, known(s.CadenceSeconds))
		offset.Set(r, &s.ClockOffsetSeconds)
	}
	return table("coverage", state.called("State").mapped(coverageColours()), target, part, collector, series,
		age.called("Age").unit(unitSeconds), cadence.called("Every").unit(unitSeconds),
		offset.called("Clock off by").unit(unitSeconds), latest.called("Latest"))
}

// known gives null for 0: a source of which no cadence is known yet.
func known(seconds float64) *float64 {
	if seconds == 0 {
		return nil
	}
	return &seconds
}

func staleFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// lane is one source's row of the timeline.
type lane struct {
	name string
	gaps []client.Gap
}

// Timeline returns a frame for each source with its states in the range: "heard"
// while data was received, "silent" while it was not.
func Timeline(c *client.SourceList, from, to time.Time) []*data.Frame {
	type key struct{ collector, target, part string }
	gaps := map[key][]client.Gap{}
	for _, g := range c.Gaps {
		if g.From.Before(to) && (g.To == nil || g.To.After(from)) {
			k := key{g.Collector, g.Target, g.Part}
			gaps[k] = append(gaps[k], g)
		}
	}
	lanes := make([]lane, len(c.Sources))
	for i, s := range c.Sources {
		lanes[i] = lane{s.Target + " " + s.Part + " (" + s.Collector + ")", gaps[key{s.Collector, s.Target, s.Part}]}
	}
	slices.SortStableFunc(lanes, func(a, b lane) int {
		return cmp.Or(cmp.Compare(len(b.gaps), len(a.gaps)), cmp.Compare(a.name, b.name))
	})
	shown := lanes[:min(len(lanes), MaxLanes)]
	out := make([]*data.Frame, len(shown))
	for i, l := range shown {
		out[i] = l.frame(from, to)
	}
	if len(lanes) > len(shown) {
		Say(out[0], fmt.Sprintf("%d of %d sources are shown, those with gaps first", len(shown), len(lanes)))
	}
	return out
}

// frame lists the times at which the lane's state changes.
func (l lane) frame(from, to time.Time) *data.Frame {
	at, state := []time.Time{from}, []string{receiving}
	slices.SortFunc(l.gaps, func(a, b client.Gap) int { return a.From.Compare(b.From) })
	turn := func(t time.Time, s string) {
		if !t.After(at[len(at)-1]) {
			state[len(state)-1] = s
			return
		}
		if t.Before(to) && state[len(state)-1] != s {
			at, state = append(at, t), append(state, s)
		}
	}
	for _, g := range l.gaps {
		turn(g.From, noData)
		if g.To != nil {
			turn(*g.To, receiving)
		}
	}
	// The last state holds until the end of the range.
	at, state = append(at, to), append(state, state[len(state)-1])
	value := column{data.NewField(l.name, nil, state)}.called(l.name).mapped(coverageColours())
	return data.NewFrame(l.name, data.NewField("time", nil, at), value.Field)
}
