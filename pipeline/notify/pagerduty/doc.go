// Package pagerduty notifies PagerDuty by its Events API v2.
//
// It owns the event of a revision: its action, its severity and its bounds. One
// incident is one alert there, whose dedup_key is the incident's id.
package pagerduty
