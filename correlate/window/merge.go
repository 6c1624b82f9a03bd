package window

import "github.com/quintet-dc/quintet/telemetry"

// merged gathers the samples of one source that have the same time, from
// several frames or from a schema that is not a block of its own.
type merged struct {
	words  []uint64
	states []telemetry.State
}

// clash marks a sample that two frames state differently.
const clash telemetry.State = 3

func (m *merged) reset(n int) {
	if cap(m.words) < n {
		m.words, m.states = make([]uint64, n), make([]telemetry.State, n)
	}
	m.words, m.states = m.words[:n], m.states[:n]
	clear(m.states)
}

// add merges one frame's instant. Present takes precedence over Gap, and Gap over
// Absent; of two present words the larger is kept. This does not depend on the
// order in which they are added (I2).
func (m *merged) add(sc *schema, words []uint64, states []telemetry.State) {
	e := len(sc.Entities)
	for i, word := range words {
		s := telemetry.Present
		if states != nil {
			s = states[i]
		}
		if s == telemetry.Absent {
			continue
		}
		l := sc.localOf(i)
		if s == telemetry.Present && sc.convert != nil && sc.convert[i/e] {
			word = sc.source.runAt(l).word.Word(sc.Columns[i/e].Float(word))
		}
		m.one(l, word, s)
	}
}

func (m *merged) one(l int32, word uint64, s telemetry.State) {
	switch {
	case m.states[l] < telemetry.Present:
		if s >= m.states[l] {
			m.words[l], m.states[l] = word, s
		}
	case s == telemetry.Present && m.words[l] != word:
		m.words[l], m.states[l] = max(m.words[l], word), clash
	}
}

// resolve turns clashes into samples and counts them.
func (m *merged) resolve() (clashes uint64) {
	for i, s := range m.states {
		if s == clash {
			m.states[i] = telemetry.Present
			clashes++
		}
	}
	return clashes
}

// localOf returns the source's local index of position i.
func (sc *schema) localOf(i int) int32 {
	if sc.direct != nil {
		return sc.direct.lo + int32(i)
	}
	return sc.local[i]
}
