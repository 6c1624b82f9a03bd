// Package detect finds anomalous series: it examines every fresh value of a
// closed grid and reports when a finding began and when it ended.
//
// It owns the baseline of each series: its own past, kept as a few float32 per
// slot in arrays, and the open findings. It does not depend on jobs, topology or
// causes, and its findings are evidence, not verdicts. It never reads a value
// that its grid does not have: values that are held over, late or averaged over
// a gap are not judged.
//
// # The detectors
//
// The catalogue names the detectors of a metric. Each needs confirmation, so
// that noise does not produce a flood of findings; all thresholds are ratios to
// the series' own past or to its peers.
//
//   - shift: a two-sided cumulative sum of the distance from a robust mean
//     (an exponential mean of clipped values), in robust deviations. It reports
//     after four samples at the earliest, two of which are a tenth away or more.
//     It ends when five samples in a row are near the old level, or when the
//     mean has slowly become the new one.
//   - burst: a counter's rate twice above the largest that is remembered of
//     its past, in most of three samples. What is remembered halves every 180
//     samples and does not learn from the burst itself before it ends.
//   - level: a state other than the usual one in the bad direction, or a gauge
//     a tenth beyond its usual level, twice in a row; it ends within a
//     twentieth of it. The usual level never learns from a finding.
//   - peer: a robust distance of more than five deviations from the median of
//     the entities of the same metric and source (five or more), and a tenth of
//     it, five samples more often than not. Where more than a quarter are that
//     far away it reports nothing.
//   - stuck: a counter at the maximum at which it stops, or a gauge that used
//     to move and has not for twenty times as long as it usually took.
//   - drift: a steady rise on a logarithmic scale towards a value beyond which
//     things break, over minutes or hours: of a bit error ratio towards what
//     forward error correction can correct. It ends when half the least rise that
//     makes one is left.
//   - silence: no sample for three cadences, once the cadence is known. A
//     source that is stale altogether is one finding, on its collector entity;
//     one that states nothing but the steps of jobs is never stale here.
//
// The mean is taken after thirty samples at the earliest; a series that is new
// is not judged before.
package detect
