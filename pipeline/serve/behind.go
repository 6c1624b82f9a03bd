package serve

import (
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/telemetry"
)

// logStaleAfter is how old the engine's tick may be before nothing of the site
// counts as known.
const logStaleAfter = 30 * time.Second

// catchesUpFrom is the speed, in times of real time, from which an engine catches up
// rather than follows.
const catchesUpFrom = 1.5

// delay is how far the engine is from the present.
type delay struct {
	Text       string  `json:"text"`
	Seconds    float64 `json:"seconds"`
	CatchingUp bool    `json:"catching_up"` // else the log itself does not advance
}

// behind returns how far the engine is from the present; nil while it is within
// logStaleAfter. An engine that has more to read, or moves faster than time,
// catches up.
func behind(st *replica.Status, now time.Time) *delay {
	switch {
	case st.Tick == nil && st.Log.Tick != nil:
		return &delay{Text: "catching up: no tick of the log is read yet", CatchingUp: true}
	case st.Tick == nil:
		return &delay{Text: "no tick received"}
	}
	late := now.Sub(time.Unix(0, int64(*st.Tick)))
	if late <= logStaleAfter {
		return nil
	}
	unread := st.Log.Tick != nil && st.Log.Tick.Sub(*st.Tick) > telemetry.Duration(logStaleAfter)
	if !unread && st.Speed < catchesUpFrom {
		return &delay{Text: "the newest tick of the log is " + late.Round(time.Second).String() + " old", Seconds: late.Seconds()}
	}
	out := &delay{Text: fmt.Sprintf("catching up: judges %s, %s behind", st.Tick.Clock(), span(late)), Seconds: late.Seconds(), CatchingUp: true}
	if st.Speed >= catchesUpFrom {
		out.Text += ", present in about " + span(time.Duration(float64(late)/(st.Speed-1)))
	}
	return out
}

// span writes a length of time for people: 45 s, 4 min, 3 h 20 min.
func span(d time.Duration) string {
	switch minutes := int(d.Round(time.Minute) / time.Minute); {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second)/time.Second)))
	case minutes < 90:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
}
