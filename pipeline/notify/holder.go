package notify

import "github.com/quintet-dc/quintet/correlate/explain"

// OpenIncident is an open incident, risk or group of alerts, as far as it decides which
// covers which.
type OpenIncident struct{ posted *posted }

// NewOpenIncident returns an open incident, risk or group of alerts.
func NewOpenIncident(in *explain.Incident) *OpenIncident {
	return &OpenIncident{newPosted(&revision{ID: in.ID, Number: in.Revision, State: in.State, Kind: in.Kind, Severity: in.Severity, opened: in.Opened, properties: propertiesOf(in, nil)})}
}

// Holder returns the open incident that covers a group of alerts, the first to open
// if there are several, and how; "" if there is none. The alerts are withheld from
// a receiver that is notified of that incident, unless they are more severe.
func Holder(alert *OpenIncident, open []*OpenIncident, g Graph) (id, how string) {
	above := aboveOf(g, alert.posted.rev.root)
	var first *posted
	for _, o := range open {
		a := o.posted
		if a.rev.alert() || first != nil && earlier(first, a) < 0 {
			continue
		}
		if why := consequence(alert.posted, a, above); why != "" {
			first, id, how = a, a.rev.ID, why
		}
	}
	return id, how
}
