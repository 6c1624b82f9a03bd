package correlate_test

import (
	"strings"
	"testing"
)

// stopping is a host whose fans turn alike until one of them stops, or all turn
// slower; its job's steps stay as long as they were.
const stopping = `A fan stops; the job goes on.
-- site --
for 400s
-- edges --
rack:r0 contains node:h{0..1}
node:h0 contains fan:h0/{0..3}
node:h1 contains fan:h1/{0..3}
job:train runs node:h{i=0..1} rank={i}
-- load --
10s fan:h0/0 fan_speed_ratio FIRST
10s fan:h0/{i=1..3} fan_speed_ratio OTHERS
10s fan:h1/{i=0..3} fan_speed_ratio 0.6x*
-- steps --
job:train job_step_seconds 3~1%x*
-- want --
no incident
`

func TestAFanThatStopsIsARiskBeforeAnyJobIsDegraded(t *testing.T) {
	steady, slower, gone := "0.6x*", "0.6x20 0.3x*", "0.6x20 0.3x5 0.6x*"
	for name, c := range map[string]struct {
		first, others string
		want          []string
	}{
		"one stops":             {slower, steady, []string{"open risk fan-failure fan:h0/0 warning"}},
		"one stops for a while": {gone, steady, []string{"open risk fan-failure fan:h0/0 warning", "resolved risk fan-failure fan:h0/0 warning (recovered)"}},
		"all turn slower":       {slower, slower, nil},
		"none":                  {steady, steady, nil},
	} {
		_, all := play(t, strings.NewReplacer("FIRST", c.first, "OTHERS", c.others).Replace(stopping))
		t.Run(name, func(t *testing.T) { wantHistory(t, all, c.want...) })
		for _, in := range all[:min(1, len(all))] {
			if wait := in.Opened.Sub(in.Onset.Latest); wait > 70e9 {
				t.Errorf("%s: opened %v after the sample", name, wait)
			}
			if !strings.Contains(in.Title, "train is at risk") || !strings.Contains(in.Title, "fan h0/0 turns at 50 % of its speed") {
				t.Errorf("%s: title %q", name, in.Title)
			}
		}
	}
}
