package replica

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Alarm is something a person should look at.
type Alarm struct {
	Name  string         `json:"name"`
	Since telemetry.Time `json:"since"`
	Text  string         `json:"text"`
}

// Diverged is the alarm's name: two replicas of one engine over one log have
// come to different answers, which they never should.
const Diverged = "replica diverged"

// ForeignRevisions is the name of the alarm for entries in the stream of incidents
// that no engine wrote. Such entries are ignored.
const ForeignRevisions = "foreign entries in the stream of incidents"

// DamagedSnapshot is the name of the alarm that a snapshot cannot be read, and that
// the engine went on from one before it, or began cold.
const DamagedSnapshot = "damaged snapshot"

// LogHole is the name of the alarm that the log lost entries.
const LogHole = "hole in the log"

// DamagedRevision is the name of the alarm that a revision of an incident does not match
// its digest. It is ignored.
const DamagedRevision = "damaged revision of an incident"

// EnginePanicked is the name of the alarm that a defect of the engine's code ended it.
const EnginePanicked = "engine panicked"

// EngineEnded is the name of the alarm that the process of the engine ended and was
// started again.
const EngineEnded = "engine ended"

// What raises an alarm.
const (
	alarmSnapshot = "snapshot"
	alarmHole     = "hole"

	alarmPanic = "panic"
	alarmEnded = "ended"

	alarmStream = "stream" // the stream of incidents holds other bytes
	alarmBody   = "body"   // it holds a revision that does not match its digest
	alarmState  = "state"  // another replica's state is another
	alarmWrites = "writes" // the stream of incidents holds what no engine wrote
)

// alarms are the raised alarms, by what raised them.
type alarms map[string]Alarm

// raise begins an alarm, or updates a raised one.
func (a alarms) raise(cause, text string) {
	since, name := now(), Diverged
	if was, ok := a[cause]; ok {
		since = was.Since
	}
	switch cause {
	case alarmWrites:
		name = ForeignRevisions
	case alarmBody:
		name = DamagedRevision
	case alarmSnapshot:
		name = DamagedSnapshot
	case alarmHole:
		name = LogHole
	case alarmPanic:
		name = EnginePanicked
	case alarmEnded:
		name = EngineEnded
	}
	a[cause] = Alarm{name, since, text}
}

func (a alarms) clear(cause string) { delete(a, cause) }

// list returns the alarms, the newest first.
func (a alarms) list() []Alarm {
	out := []Alarm{}
	for _, x := range a {
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y Alarm) int { return cmp.Or(cmp.Compare(y.Since, x.Since), strings.Compare(x.Text, y.Text)) })
	return out
}
