package silence

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a container may have no zones of its own
)

// Window recurs by the week: it begins at a time of day in a zone, on the days
// that are named, and lasts for so many minutes, also over midnight. Where the
// zone's clocks go forward over its beginning, it begins after the change.
type Window struct {
	Days    []string `json:"days"` // mon, tue …; none means every day
	At      string   `json:"at"`   // HH:MM
	Minutes int      `json:"minutes"`
	Zone    string   `json:"zone"` // as Europe/Berlin; UTC where it is empty
}

const maxMinutes = 7 * 24 * 60

// days are the names of weekdays, in time.Weekday's order.
var days = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// validate returns an error if w is invalid.
func (w *Window) validate() *Problem {
	for _, d := range w.Days {
		if !slices.Contains(days[:], d) {
			return problem("days", "%.20q: want mon, tue, wed, thu, fri, sat or sun", d)
		}
	}
	if len(w.Days) > len(days) {
		return problem("days", "%d of them", len(w.Days))
	}
	if _, _, err := w.timeOfDay(); err != nil {
		return problem("at", "%.20q: want a time of day as 02:30", w.At)
	}
	if w.Minutes < 1 || w.Minutes > maxMinutes {
		return problem("minutes", "%d: want 1 to %d, which is a week", w.Minutes, maxMinutes)
	}
	if _, err := w.location(); err != nil {
		return problem("zone", "%.60q: want a name as Europe/Berlin, or none for UTC", w.Zone)
	}
	return nil
}

func (w *Window) timeOfDay() (hour, minute int, err error) {
	t, err := time.Parse("15:04", w.At)
	return t.Hour(), t.Minute(), err
}

func (w *Window) location() (*time.Location, error) {
	if strings.EqualFold(w.Zone, "local") {
		return nil, fmt.Errorf("the zone of which machine?")
	}
	return time.LoadLocation(w.Zone)
}

// around returns the window that contains an instant, the one that ends last if
// there are two, or else the next one.
func (w *Window) around(at time.Time) (begin, end time.Time, in bool) {
	zone, err := w.location()
	hour, minute, wrong := w.timeOfDay()
	if err != nil || wrong != nil {
		return time.Time{}, time.Time{}, false
	}
	year, month, day := at.In(zone).Date()
	lasts := time.Duration(w.Minutes) * time.Minute
	for back := 8; back >= -8; back-- { // a week to either side, and a day for the zone
		b := time.Date(year, month, day-back, hour, minute, 0, 0, zone)
		if len(w.Days) > 0 && !slices.Contains(w.Days, days[b.Weekday()]) {
			continue
		}
		switch e := b.Add(lasts); {
		case b.After(at):
			if in {
				return begin, end, true
			}
			return b, e, false
		case at.Before(e):
			begin, end, in = b, e, true
		}
	}
	return begin, end, in
}
