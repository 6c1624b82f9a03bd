package raise

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Alert is an alert of a rule as it was evaluated.
type Alert struct {
	Entity telemetry.Entity // whom it is about
	notify.RuleAlert
	Until time.Time // it holds until then, unless it is sent again
	Over  bool      // it has ceased

	print, group string // its fingerprint and key, once it was taken: all that fires is looked at every second
}

// maxListed bounds the alerts that a message lists; more are counted.
const maxListed = 64

// fingerprint identifies an alert, as in Alertmanager.
func (a *Alert) fingerprint() string {
	h := sha256.New()
	for _, n := range slices.Sorted(maps.Keys(a.Labels)) {
		fmt.Fprintf(h, "%q %q ", n, a.Labels[n])
	}
	return string(h.Sum(nil)[:16])
}

// name is what its rule is called.
func (a *Alert) name() string { return cmp.Or(a.Labels["alertname"], "alert") }

// severity returns a known severity; any other value becomes warning.
func (a *Alert) severity() string {
	switch s := a.Labels["severity"]; s {
	case explain.SeverityCritical, explain.SeverityInfo:
		return s
	}
	return explain.SeverityWarning
}

// place returns the entity at which alerts are grouped: the outermost entity that
// contains this one by its name.
func (a *Alert) place() telemetry.Entity {
	in := match.Containers(a.Entity)
	return in[len(in)-1]
}

// key is what alerts of one group have in common.
func (a *Alert) key() string {
	return strings.Join([]string{a.name(), a.severity(), a.place().String()}, " ")
}

// digest identifies the members of a group.
func digest(members []*Alert) string {
	h := sha256.New()
	for _, m := range members {
		fmt.Fprintf(h, "%s%d ", m.print, m.StartsAt)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// body is a revision of a group as it is stored: in the form of an incident, so
// that every receiver can read it, with the alerts as their rule made them.
type body struct {
	explain.Incident
	Alerts  []notify.RuleAlert `json:"alerts"`
	Count   int                `json:"alert_count"` // Alerts may be fewer
	Members string             `json:"members"`     // a digest of who is in it
	Key     string             `json:"key"`
}

// idOf names an episode of a group: by the one before it, so that two processes
// that know the same past give the same name.
func idOf(site, key, before string) string {
	h := sha256.Sum256([]byte(site + "\x00" + key + "\x00" + before))
	return notify.AlertPrefix + hex.EncodeToString(h[:8])
}

// open is a group that fires, as a revision. Members are in the order of their
// fingerprints, at least one.
func (r *Raiser) open(g *group, members []*Alert, now telemetry.Time) *body {
	first := members[0]
	root := first.Entity
	if len(members) > 1 {
		root = first.place()
	}
	began := first.StartsAt
	var entities []telemetry.Entity
	out := &body{Key: first.group, Members: digest(members), Count: len(members)}
	domain, err := telemetry.ParseDomain(first.Labels["domain"])
	if err != nil {
		domain = telemetry.Software // a rule of somebody's own, or one about the site
	}
	for _, m := range members {
		began = min(began, m.StartsAt)
		if !slices.Contains(entities, m.Entity) && len(entities) < maxListed {
			entities = append(entities, m.Entity)
		}
		if len(out.Alerts) < maxListed {
			out.Alerts = append(out.Alerts, r.linked(m.RuleAlert, g.id))
		}
	}
	title := first.Annotations["summary"]
	switch {
	case len(members) > 1:
		title = fmt.Sprintf("%s: %d at %s", first.name(), len(members), root)
	case title == "":
		title = first.name() + " at " + root.String()
	}
	onset := telemetry.Interval{Earliest: began, Latest: began}
	out.Incident = explain.Incident{ID: g.id, State: explain.StateOpen, Kind: notify.KindAlert, Severity: first.severity(), Title: title, Opened: g.opened, Updated: now,
		Revision: g.revision + 1, Onset: onset, Root: explain.Root{Entity: root, Domain: domain, Signature: first.name(), Confidence: 1, Onset: onset},
		Alternatives: []explain.Alternative{}, Contributors: []explain.Contributor{}, Impact: explain.Impact{Jobs: []explain.JobImpact{}, Entities: entities},
		Chain: []explain.Link{}, RuledOut: []explain.RuledOut{}, BlindSpots: []explain.BlindSpot{}, Actions: []explain.Action{}, Site: r.c.Site, Engine: r.c.Version}
	if what := runbook(first.Annotations); what != "" {
		out.Actions = append(out.Actions, explain.Action{Kind: "call", Target: root, Text: what})
	}
	return out
}

// The annotations that state what to do about an alert: as text, and where to read
// it. A rule has one of them.
const (
	runbookText = "runbook"
	runbookURL  = "runbook_url"
)

// runbook returns what the annotations of an alert say to do; "" if they say
// nothing.
func runbook(annotations map[string]string) string {
	switch text, book := annotations[runbookText], annotations[runbookURL]; {
	case text != "":
		return text
	case book != "":
		return "See " + book
	}
	return ""
}

// linked returns an alert of group id whose runbook_url is the page of the group,
// where the runbook is shown: if the page's address is known, and the rule names no
// address of its own.
func (r *Raiser) linked(a notify.RuleAlert, id string) notify.RuleAlert {
	if r.c.Page == "" || a.Annotations[runbookText] == "" || a.Annotations[runbookURL] != "" {
		return a
	}
	a.Annotations = maps.Clone(a.Annotations)
	a.Annotations[runbookURL] = strings.TrimSuffix(r.c.Page, "/") + "/alerts/" + id
	return a
}

// Why an alert is over.
const (
	ceased       = "ceased"
	notEvaluated = "not-evaluated" // its rule is not, so that nobody knows
)

// over returns the last revision of a group, resolved.
func over(last []byte, revision int, now telemetry.Time, how string) (*body, error) {
	var b body
	if err := json.Unmarshal(last, &b); err != nil {
		return nil, err
	}
	b.State, b.Revision, b.Updated, b.Resolved, b.Resolution = explain.StateResolved, revision, now, &now, &how
	return &b, nil
}
