package fault

import "github.com/quintet-dc/quintet/correlate/stats"

// Parameters are how a fault differs from the simplest form of its kind: its
// magnitude, how long it has no effect, how it develops and whether it comes and
// goes.
//
// No signature is written against the table below, and nothing is tuned on it: it
// is what other makers' hardware might do. Its classes are scored apart.
type Parameters struct {
	Name   string
	Least  float64 // of the severity, at severity 0
	Bend   float64 // severity counts to this power beyond Least
	Lag    float64 // seconds after the onset in which nothing happens
	Ramp   float64 // seconds in which it comes about at least
	Period float64 // seconds; 0: it does not come and go
	Duty   float64 // share of each period in which it is there
}

// Apart returns the ten classes that are scored apart.
func Apart() []Parameters {
	return []Parameters{
		{Name: "slow-receiver", Least: 0.1, Bend: 0.7, Lag: 2, Period: 23, Duty: 0.8},
		{Name: "link-degraded", Bend: 1.3, Lag: 4},
		{Name: "ecmp-collision", Least: 0.05, Bend: 0.8, Period: 61, Duty: 0.85},
		{Name: "gpu-slow", Bend: 1.5, Lag: 7, Ramp: 45},
		{Name: "power-cap", Least: 0.1, Bend: 0.9, Lag: 12, Ramp: 20},
		{Name: "power-brake", Bend: 0.8, Lag: 5, Ramp: 30},
		{Name: "coolant-flow-loss", Least: 0.2, Bend: 0.6, Lag: 9, Ramp: 70},
		{Name: "cold-plate", Bend: 0.75, Lag: 20, Ramp: 120},
		{Name: "input-stall", Bend: 1.4, Lag: 3, Period: 90, Duty: 0.9},
		{Name: "slow-rank", Bend: 1.2, Ramp: 60, Period: 47, Duty: 0.75},
	}
}

// ordinary is the straight way.
func ordinary() Parameters { return Parameters{Bend: 1} }

// parametersOf returns a class's row of the table, or the straight way.
func parametersOf(name string) Parameters {
	for _, p := range Apart() {
		if p.Name == name {
			return p
		}
	}
	return ordinary()
}

func (p Parameters) magnitude(severity float64) float64 {
	if p.Bend == 1 || severity <= 0 {
		return severity
	}
	return p.Least + float64((1-p.Least)*stats.Pow(severity, p.Bend))
}

// on reports whether an intermittent fault is present, so many seconds after its
// onset: for the first part (Duty) of each period.
func (p Parameters) on(since float64) bool {
	if p.Period <= 0 {
		return true
	}
	turns := since / p.Period
	return turns-float64(int(turns)) < p.Duty
}
