// Package window turns frames into a time grid: for every series one value per
// grid, counters as rates, with reset, wrap, saturation and gap distinguished.
//
// It owns the frames that wait for their grid, the last sample of every (source,
// series), the recent past of evidence metrics, which of several sources a series
// is judged from, and the estimate of each source's clock. It decides nothing about
// health, closes a grid only when its caller does, never opens one again, and reads
// no clock.
//
// # From frames to grids
//
// Frames wait encoded, per source, until the caller closes a grid of their lateness
// class. Close then takes, of each source, every waiting instant up to the end of
// the grid that is due, in the order of time: a source that needs less than its
// class's lateness is closed further (see wait). Instants of the same time are
// merged series by series before they are looked at, and where two frames
// contradict each other the larger word is kept: so neither the order of arrival
// inside the wait nor batching nor repetition changes an answer (I2). Sources are
// independent of each other, hence neither does the number of slices (I8).
//
// # Counters
//
// A counter is taken as linear between two samples: each pair makes a segment with
// one rate. The grid (g-Grid, g] has the rate of the segment that ended in it; if
// several did, their mean weighted by the time each covers in the grid. The segment
// that crosses the end of the grid is not known yet: it depends on a sample that
// may still be under way, so using it would let arrival order decide. When it is
// known, the history (At) is completed: a grid's cell there is the mean, weighted
// by time, of all segments that overlap it. So a counter sampled every K grids
// fills the K cells with its average rate when its next sample is closed.
//
// A fall of a counter is a wrap if the increase it implies is plausible, else a
// reset; across a reset there is no rate.
//
// # Late samples
//
// Samples older than their source's closed grid are counted. A late counter sample
// newer than the last known one keeps its increase, spread over the cells it
// covers; a late gauge fills its cell if that is empty. Neither makes a grid Fresh,
// so nothing is judged on it.
package window
