package alertmanager

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// ours lists the labels that a configuration cannot set.
var ours = []string{"alertname", "severity", "kind", "domain", "signature", "job", "root", "incident", "site"}

// alert is what a message says, as an alert. One that resolves ends now or
// before; any other lives on for a while.
func (a *Alertmanager) alert(told *notify.Told, now time.Time) (alert, error) {
	v := a.text.View(told)
	title, prose, err := a.text.Render(v)
	if err != nil {
		return alert{}, err
	}
	in := &told.Data
	out := alert{Labels: map[string]string{}, Annotations: map[string]string{}, Generator: v.Link, StartsAt: stamp(int64(in.Opened)), EndsAt: now.Add(lives * a.c.Resend).UTC()}
	if told.Type == notify.TypeResolved {
		out.EndsAt = now.UTC()
		if in.Resolved != nil && stamp(int64(*in.Resolved)).Before(now) {
			out.EndsAt = stamp(int64(*in.Resolved))
		}
	}
	if out.StartsAt.After(out.EndsAt) {
		out.StartsAt = out.EndsAt // Alertmanager refuses what ends before it begins
	}
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

// fill adds what is not empty: an empty label is none.
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
