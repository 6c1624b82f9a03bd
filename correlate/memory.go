package correlate

import "github.com/quintet-dc/quintet/telemetry"

// memory holds the events of the site and the intervals without data.
type memory struct {
	*sight
	events    []telemetry.Event // not yet due, in order
	processed []telemetry.Event // due in the last lateness: repeats of them are ignored
	recent    []telemetry.Event // due in the last keptFor, in order: what degradations may be explained by
	gaps      []Gap             // in which sources sent no data, as they were noticed
	holes     []telemetry.Hole  // of the log, as they were reported
	counts    *Counts
}
