package attribute

import "github.com/quintet-dc/quintet/correlate/jobs"

// Severity ranks an incident for the person on call.
type Severity uint8

// The severities, in rising order.
const (
	Info Severity = iota
	Warning
	Critical
)

// String returns the severity as incidents carry it.
func (s Severity) String() string { return [...]string{"info", "warning", "critical"}[s] }

// The thresholds of severity.
const (
	criticalRate    = 100  // GPU-hours lost per hour
	warningRate     = 10   // GPU-hours lost per hour
	warningSlowdown = 1.05 // step over expected
)

// SeverityOf returns how severe an incident is: critical where a job is stalled or failed or
// 100 GPU-hours are lost per hour; warning from a slowdown of 5 % or 10
// GPU-hours per hour; else info.
func SeverityOf(state jobs.State, l Loss) Severity {
	slowdown, _ := l.Slowdown()
	switch {
	case state == jobs.Stalled || state == jobs.Failed || l.Rate() >= criticalRate:
		return Critical
	case slowdown >= warningSlowdown || l.Rate() >= warningRate:
		return Warning
	}
	return Info
}
