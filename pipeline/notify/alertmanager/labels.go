package alertmanager

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/telemetry"
)

// ours lists the labels that a configuration cannot set.
var ours = []string{"alertname", "severity", "kind", "domain", "signature", "job", "root", "incident", "site"}

// marked is the annotation that marks a rule's alert as one of Quintet's when an
// Alertmanager sends it back (package receive): its labels are the rule's.
const marked = "quintet_alert"

// alerts returns the alerts of a message: an incident is one alert, a group of a
// rule's alerts is each of them as Prometheus would send it.
func (a *Alertmanager) alerts(content *notify.Content, now time.Time) ([]alert, error) {
	if content.Data.Kind != notify.KindAlert {
		one, err := a.alert(content, now)
		return []alert{one}, err
	}
	v := a.text.View(content)
	var out []alert
	for _, x := range content.Alerts {
		o := alert{Labels: map[string]string{}, Annotations: map[string]string{}, Generator: v.Link}
		fill(o.Labels, a.c.Labels)
		fill(o.Labels, x.Labels)
		fill(o.Annotations, x.Annotations)
		fill(o.Annotations, map[string]string{"notice": v.Notice, marked: content.Data.ID})
		o.StartsAt, o.EndsAt = a.span(content, x.StartsAt, now)
		out = append(out, o)
	}
	return out, nil
}

// span returns when an alert begins and ends. A resolved alert ends now or before;
// any other ends some time in the future.
func (a *Alertmanager) span(content *notify.Content, began telemetry.Time, now time.Time) (starts, ends time.Time) {
	starts, ends = stamp(int64(began)), now.Add(lives*a.c.Resend).UTC()
	if content.Resolved() {
		ends = now.UTC()
		if r := content.Data.Resolved; r != nil && stamp(int64(*r)).Before(now) {
			ends = stamp(int64(*r))
		}
	}
	if starts.After(ends) {
		starts = ends // Alertmanager refuses what ends before it begins
	}
	return starts, ends
}

// alert is an incident as an alert.
func (a *Alertmanager) alert(content *notify.Content, now time.Time) (alert, error) {
	v := a.text.View(content)
	title, prose, err := a.text.Render(v)
	if err != nil {
		return alert{}, err
	}
	in := &content.Data
	out := alert{Labels: map[string]string{}, Annotations: map[string]string{}, Generator: v.Link}
	out.StartsAt, out.EndsAt = a.span(content, in.Opened, now)
	job := ""
	if len(in.Impact.Jobs) > 0 {
		job = in.Impact.Jobs[0].Job.Name
	}
	fill(out.Labels, a.c.Labels)
	fill(out.Labels, map[string]string{"alertname": "Quintet" + camel(cmp.Or(in.Root.Signature, "incident")), "severity": in.Severity, "kind": in.Kind, "domain": v.Domain,
		"signature": in.Root.Signature, "job": job, "root": v.Root, "incident": in.ID, "site": in.Site})
	fill(out.Annotations, map[string]string{"summary": text.Cut(1024, title), "description": text.Cut(8<<10, prose), "chain": text.Cut(8<<10, strings.Join(v.Chain, "\n")),
		"jobs": strings.Join(v.Jobs, ", "), "actions": strings.Join(v.Actions, "\n"), "notice": v.Notice, "revision": strconv.Itoa(in.Revision)})
	return out, nil
}

func stamp(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// fill adds the labels that are not empty: an empty label is none.
func fill(into, from map[string]string) {
	for name, value := range from {
		if value != "" {
			into[name] = strings.ToValidUTF8(value, "")
		}
	}
}

// camel is a signature as a part of an alert's name: slow-receiver is
// SlowReceiver.
func camel(s string) string {
	var b strings.Builder
	up := true
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		up = false
	}
	return b.String()
}
