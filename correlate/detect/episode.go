package detect

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxScore bounds a score; what was zero before has no ratio.
const maxScore = 100

// find returns where the episode of a slot and shape is, or would be.
func (s *source) find(slot int32, shape telemetry.Shape) (int, bool) {
	return slices.BinarySearchFunc(s.episodes, episode{slot: slot, shape: shape}, compareEpisodes)
}

func compareEpisodes(a, b episode) int {
	if c := cmp.Compare(a.slot, b.slot); c != 0 {
		return c
	}
	return cmp.Compare(a.shape, b.shape)
}

// A source has room for so many episodes from the start that its first ones,
// and their ups and downs, allocate nothing: one in roomShare of its series.
const (
	roomShare = 16
	roomLeast = 8
)

// reserve makes room for the episodes of a source of so many series.
func (s *source) reserve(series int) {
	if room := max(series/roomShare, roomLeast); cap(s.episodes) < room {
		s.episodes = slices.Grow(s.episodes, room-len(s.episodes))
	}
}

// suspect begins an episode that is not confirmed yet.
func (k *worker) suspect(slot int32, shape telemetry.Shape, onset telemetry.Interval, before, now float32) *episode {
	i, ok := k.src.find(slot, shape)
	if !ok {
		k.src.episodes = slices.Insert(k.src.episodes, i, episode{slot: slot, shape: shape, onset: onset, before: before, peak: now})
	}
	return &k.src.episodes[i]
}

// confirm makes an unconfirmed episode a finding.
func (k *worker) confirm(e *episode, now, score float32) {
	e.confirmed, e.score = true, min(max(score, 1), maxScore)
	f := e.finding(k.w, &k.view)
	f.Now = number(now)
	k.found = append(k.found, f)
}

// number is x, or zero where a value is not known.
func number(x float32) float64 {
	if x != x {
		return 0
	}
	return float64(x)
}

// end removes an episode; if it was a finding, its end is reported. It returns the
// largest value of the episode.
func (k *worker) end(slot int32, shape telemetry.Shape, now float32) float32 {
	i, ok := k.src.find(slot, shape)
	if !ok {
		return 0
	}
	e := k.src.episodes[i]
	if e.confirmed {
		f := e.finding(k.w, &k.view)
		f.Ended, f.Now = k.g, number(now)
		k.found = append(k.found, f)
	}
	k.src.episodes = slices.Delete(k.src.episodes, i, i+1)
	return e.peak
}

// forget ends every episode of a slot.
func (k *worker) forget(slot int32, now float32) {
	for {
		i, _ := k.src.find(slot, 0)
		if i == len(k.src.episodes) || k.src.episodes[i].slot != slot {
			return
		}
		k.end(slot, k.src.episodes[i].shape, now)
	}
}

// onset is the interval in which slot i of the run became bad: from the sample
// before to the end of the grid.
func (k *worker) onset(i int) telemetry.Interval {
	at, _, step := k.run.Last(i)
	return telemetry.Interval{Earliest: min(at.Add(-telemetry.Duration(step)*1000), k.from), Latest: at}
}

// sourceStale reports that a source sends no data at all any more.
func (k *worker) sourceStale() {
	last := k.view.Latest
	e := k.suspect(-1, telemetry.ShapeSilence, telemetry.Interval{Earliest: last, Latest: last.Add(k.view.StaleAfter)}, 0, 0)
	k.confirm(e, 0, 1)
	k.src.stale = true
}

func (k *worker) sourceReceiving() {
	k.src.stale = false
	k.end(-1, telemetry.ShapeSilence, 0)
}
