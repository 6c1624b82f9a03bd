package worlds

import "github.com/quintet-dc/quintet/lab/sim/random"

// Cadence is how often sources are read and what of it is lost.
type Cadence struct {
	// Polls lists the sources whose interval is not the standard one.
	Polls []Poll
	// Lost is the most that one source loses of its scrapes, as a share: 0 to 0.1.
	// Each source draws its own share below it. 0 keeps the standard losses.
	Lost float64
}

// Poll is the interval of all sources of one kind.
type Poll struct {
	Collector, Part string
	Seconds         int // 1 to 30
	// Staggered states that each device of the source is read at an instant of its
	// own within the interval, as an exporter does that polls one by one.
	Staggered bool
}

// Of returns the poll of a kind of source, or nil for the standard one.
func (c *Cadence) Of(collector, part string) *Poll {
	for i := range c.Polls {
		if p := &c.Polls[i]; p.Collector == collector && p.Part == part {
			return p
		}
	}
	return nil
}

// polled lists the kinds of source; those with devices of their own first.
var polled = [][2]string{
	{"dcgm", "gpus"}, {"sysfs", "nics"}, {"gnmi", "ports"},
	{"dcgm", "nvlinks"}, {"gnmi", "chassis"}, {"storage", "storage"}, {"serving", "serving"},
	{"redfish", "bmc"}, {"redfish", "fans"}, {"redfish", "rack"}, {"redfish", "psus"}, {"redfish", "cdu"}, {"redfish", "pumps"},
	{"redfish", "leaks"}, {"redfish", "row"}, {"redfish", "crah"}, {"redfish", "pdus"}, {"redfish", "ups"}, {"redfish", "feeds"},
}

// devices is how many of polled have devices of their own.
const devices = 3

// intervals are what sites set: Prometheus scrapes of 1, 5, 10, 15 and 30 s,
// gNMI samples of 1, 2, 5, 10 and 30 s.
var intervals = []int{1, 2, 5, 10, 15, 30}

const (
	shortestStep, longestStep = 0.3, 60.0 // seconds
	longestReport             = 120.0     // seconds between two step reports
	mostSteps                 = 20        // of a report
)

// drawCadence draws the intervals, and with them how long steps are and how many
// of them a report covers.
func drawCadence(r *random.Source) (Cadence, Jobs) {
	c := Cadence{Lost: r.Uniform(0, 0.1)}
	for i, kind := range polled {
		p := Poll{Collector: kind[0], Part: kind[1], Seconds: intervals[r.Below(len(intervals))]}
		p.Staggered = r.Chance(0.5) && i < devices && p.Seconds > 1
		c.Polls = append(c.Polls, p)
	}
	j := Jobs{StepSeconds: logUniform(r, shortestStep, longestStep)}
	most := min(mostSteps, max(1, int(longestReport/j.StepSeconds)))
	j.Every = 1 + r.Below(most)
	return c, j
}
