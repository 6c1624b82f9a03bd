package correlate

import (
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// sight is the view of the site as of the last grid: its series, its findings, its
// topology, its jobs and their steps. All other parts read it; nothing is concluded
// in it.
type sight struct {
	cfg Config
	// at is the virtual instant up to which grids have been closed: class c has
	// closed the grid at − lateness[c]. Zero before the first tick.
	at     telemetry.Time
	window *window.Window
	detect *detect.Detector
	graph  *topology.Graph
	book   *jobs.Book
	// perStep is what jobs and ranks state at their steps' ends.
	perStep jobs.PerStep

	// What follows is drawn from the above, and no state.
	links   *fabric.Map // drawn for drawn
	drawn   drawing
	surveys []surveyed    // of the jobs that are degraded, drawn like links
	plan    *symptom.Plan // what the signatures read
}

// drawing identifies what the fabric's map was built for.
type drawing struct {
	generation uint64
	slots      int
}
