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

// pairs is a rack of hosts with two fans each, too few to show what all of a host's do.
const pairs = `The fans of a rack turn slower; the job goes on.
-- site --
for 400s
-- edges --
rack:r0 contains node:h{0..2}
node:h0 contains fan:h0/{0..1}
node:h1 contains fan:h1/{0..1}
node:h2 contains fan:h2/{0..1}
job:train runs node:h{i=0..2} rank={i}
-- load --
10s fan:h0/0 fan_speed_ratio 0.6x20 0.3x*
10s fan:h0/1 fan_speed_ratio OTHERS
10s fan:h1/{i=0..1} fan_speed_ratio OTHERS
10s fan:h2/{i=0..1} fan_speed_ratio OTHERS
-- steps --
job:train job_step_seconds 3~1%x*
-- want --
no incident
`

func TestFewFansOfAHostAreComparedWithThoseOfItsRack(t *testing.T) {
	for others, want := range map[string][]string{"0.6x*": {"open risk fan-failure fan:h0/0 warning"}, "0.6x20 0.3x*": nil} {
		_, all := play(t, strings.ReplaceAll(pairs, "OTHERS", others))
		wantHistory(t, all, want...)
	}
}

// heating is a host one of whose fans stops, and one of whose GPUs loses a quarter
// of a degree of its margin each second from then on.
const heating = `A fan stops, and a GPU comes near its limit.
-- site --
for 300s
-- edges --
rack:r0 contains node:h0
node:h0 contains fan:h0/{0..3}
node:h0 contains gpu:h0/{0..1}
job:train runs node:h0 rank=0
-- load --
10s fan:h0/0 fan_speed_ratio 0.6x20 0.3x*
10s fan:h0/{i=1..3} fan_speed_ratio 0.6x*
5s gpu:h0/0 gpu_temperature_margin_celsius 20~0.2x*
5s gpu:h0/1 gpu_temperature_margin_celsius 20~0.2x40 MARGIN
-- steps --
job:train job_step_seconds 3~1%x*
-- want --
no incident
`

func TestARiskReportsWhenItDegrades(t *testing.T) {
	falling := "19 17.7 16.5 15.2 14 12.7 11.5 10.2 9 7.7 6.5 5.2 4x*"
	_, all := play(t, strings.NewReplacer("MARGIN", falling).Replace(heating))
	wantHistory(t, all, "open risk fan-failure fan:h0/0 warning", "open risk fan-failure fan:h0/0 warning")
	last := all[len(all)-1]
	if !strings.Contains(last.Title, "gpu h0/1 throttles in ") || len(last.Claims) != 2 {
		t.Fatalf("title %q, %d claims", last.Title, len(last.Claims))
	}
	claim := last.Claims[1]
	if left := claim.Value / 0.25; claim.Metric != "gpu_temperature_margin_celsius" || left < 30 || left > 80 {
		t.Errorf("%v of %s is left, which is %v s", claim.Value, claim.Metric, left)
	}
	_, all = play(t, strings.NewReplacer("MARGIN", "20~0.2x*").Replace(heating))
	wantHistory(t, all, "open risk fan-failure fan:h0/0 warning")
}

// TestALinkThatIsDownIsNotDegraded: a link that trains again at half its rate is a
// risk; one that is down has no rate, or states the one that it will try first.
func TestALinkThatIsDownIsNotDegraded(t *testing.T) {
	const link = `
-- site --
for 120s
-- edges --
port:leaf0/1 connects port:spine0/1
-- load --
1s port:leaf0/1 port_speed_bits_per_second SPEED
1s port:leaf0/1 port_up UP
-- want --
no incident
`
	for name, c := range map[string]struct {
		speed, up string
		want      []string
	}{
		"half the rate":            {"400e9x60 200e9x*", "1x*", []string{"open risk link-degraded port:leaf0/1 warning"}},
		"down, without a rate":     {"400e9x60 0x*", "1x60 0x*", nil},
		"down, with another rate":  {"400e9x60 2.5e9x*", "1x60 0x*", nil},
		"no state, without a rate": {"400e9x60 0x*", "", nil},
	} {
		text := strings.NewReplacer("SPEED", c.speed, "UP", c.up).Replace(link)
		if c.up == "" {
			text = strings.Replace(text, "1s port:leaf0/1 port_up \n", "", 1)
		}
		_, all := play(t, text)
		t.Run(name, func(t *testing.T) { wantHistory(t, all, c.want...) })
	}
}

// braking is a distribution unit that can deliver less, read every half minute, and the
// GPUs behind it.
const braking = `A distribution unit delivers less.
-- site --
for 160s
-- edges --
pdu:p0 feeds rack:r0
rack:r0 contains node:h0
node:h0 contains gpu:h0/{0..3}
job:train runs node:h0 rank=0
-- load --
30s pdu:p0 rack_power_limit_watts 40000x3 24000x*
5s gpu:h0/{i=0..3} gpu_clock_event_reasons REASONS
-- steps --
job:train job_step_seconds 3~1%x*
-- want --
no incident
`

// TestASampleIsBelievedWhenAnotherFeatureShowsTheSame: what a meter shows once may be a
// wrong value; it is none where the GPUs behind it state that they brake since then.
func TestASampleIsBelievedWhenAnotherFeatureShowsTheSame(t *testing.T) {
	const interval = 30e9
	for name, c := range map[string]struct {
		reasons string
		atOnce  bool
	}{
		"the GPUs brake":           {"0x18 128x*", true},
		"they go on":               {"0x*", false},
		"they have braked all day": {"128x*", false},
	} {
		_, all := play(t, strings.Replace(braking, "REASONS", c.reasons, 1))
		wantHistory(t, all, "open risk power-brake pdu:p0 warning")
		for _, in := range all[:min(1, len(all))] {
			if wait := in.Opened.Sub(in.Onset.Latest); wait < interval != c.atOnce {
				t.Errorf("%s: opened %.0f s after the sample", name, wait.Seconds())
			}
		}
	}
}
