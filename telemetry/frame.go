package telemetry

// Instant is one moment of a frame in both clocks. Source is when the device
// states it measured, Received when the collector had it; zero if not stated.
type Instant struct {
	Source   Time
	Received Time
}

// State states what a frame carries for one series at one instant.
type State uint8

// The states. Absence states nothing; a gap states "asked, and there was no value".
const (
	Absent State = iota
	Gap
	Present
)

// Frame is the decoded form: samples of one source at one or more instants.
// Words and States are instant by instant, each in schema order:
// Words[k*n+i] is series i at Instants[k], n = Schema.Len(). A nil States means
// everything is Present. Words that are not Present are zero.
//
// Instants rise strictly by their authoritative time.
type Frame struct {
	Fingerprint Fingerprint
	Incarnation uint64 // rises when the source restarts
	Sequence    uint64 // rises by one with every frame of an incarnation
	// ByReceived states that Received is authoritative (the source has no clock
	// worth trusting); otherwise Source is.
	ByReceived bool
	Instants   []Instant
	Words      []uint64
	States     []State
}

// Time returns the authoritative time of instant k.
func (f *Frame) Time(k int) Time {
	if f.ByReceived {
		return f.Instants[k].Received
	}
	return f.Instants[k].Source
}

// State states what Words[i] is.
func (f *Frame) State(i int) State {
	if f.States == nil {
		return Present
	}
	return f.States[i]
}
