package query

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// The answers of /rules and /alerts, as Prometheus has them. Durations are
// seconds.
type (
	group struct {
		Name           string    `json:"name"`
		File           string    `json:"file"`
		Rules          []any     `json:"rules"`
		Interval       float64   `json:"interval"`
		Limit          int       `json:"limit"`
		EvaluationTime float64   `json:"evaluationTime"`
		LastEvaluation time.Time `json:"lastEvaluation"`
	}
	evaluated struct {
		Health         rules.RuleHealth `json:"health"`
		LastError      string           `json:"lastError,omitempty"`
		EvaluationTime float64          `json:"evaluationTime"`
		LastEvaluation time.Time        `json:"lastEvaluation"`
		Type           string           `json:"type"`
	}
	alerting struct {
		State         string        `json:"state"`
		Name          string        `json:"name"`
		Query         string        `json:"query"`
		Duration      float64       `json:"duration"`
		KeepFiringFor float64       `json:"keepFiringFor"`
		Labels        labels.Labels `json:"labels"`
		Annotations   labels.Labels `json:"annotations"`
		Alerts        []active      `json:"alerts"`
		evaluated
	}
	recording struct {
		Name   string        `json:"name"`
		Query  string        `json:"query"`
		Labels labels.Labels `json:"labels"`
		evaluated
	}
	active struct {
		Labels          labels.Labels `json:"labels"`
		Annotations     labels.Labels `json:"annotations"`
		State           string        `json:"state"`
		ActiveAt        time.Time     `json:"activeAt"`
		KeepFiringSince time.Time     `json:"keepFiringSince,omitzero"`
		Value           string        `json:"value"`
	}
)

// alerts answers /alerts.
func (r *ruling) alerts(*http.Request) (result, error) {
	all := []active{}
	for _, rule := range r.manager.AlertingRules() {
		all = append(all, activeOf(rule)...)
	}
	return result{data: map[string]any{"alerts": all}}, nil
}

// activeOf lists the alerts of a rule that are pending or fire.
func activeOf(rule *rules.AlertingRule) []active {
	out := []active{}
	for _, a := range rule.ActiveAlerts() {
		out = append(out, active{a.Labels, a.Annotations, a.State.String(), a.ActiveAt, a.KeepFiringSince, strconv.FormatFloat(a.Value, 'e', -1, 64)})
	}
	return out
}

// wanted is which rules a request is about. Empty lists are all.
type wanted struct {
	rules, groups, files []string
	kind                 string // alert, record, or empty for both
	without              bool   // without the alerts of alerting rules
	matchers             [][]*labels.Matcher
	limit                int    // groups in an answer; 0 is all
	after                string // the group at which the answer begins
}

// wantedOf reads which rules a request is about.
func wantedOf(p parser.Parser, r *http.Request) (w wanted, err error) {
	w = wanted{rules: r.Form["rule_name[]"], groups: r.Form["rule_group[]"], files: r.Form["file[]"], kind: r.FormValue("type"), after: r.FormValue("group_next_token")}
	if w.kind != "" && w.kind != "alert" && w.kind != "record" {
		return w, invalid("type", fmt.Errorf("not supported value %q", w.kind))
	}
	if text := r.FormValue("exclude_alerts"); text != "" {
		if w.without, err = strconv.ParseBool(text); err != nil {
			return w, invalid("exclude_alerts", fmt.Errorf("cannot parse %q to a boolean", text))
		}
	}
	if text := r.FormValue("group_limit"); text != "" {
		if w.limit, err = strconv.Atoi(text); err != nil || w.limit <= 0 {
			return w, invalid("group_limit", errors.New("want a positive integer"))
		}
	} else if w.after != "" {
		return w, invalid("group_limit", errors.New("required with group_next_token"))
	}
	w.matchers, err = matchers(p, r)
	return w, err
}

// token names a group to the client that asks for the next ones.
func token(g *rules.Group) string { return g.File() + ";" + g.Name() }

// rules returns the question that answers /rules.
func (r *ruling) rules(p parser.Parser) question {
	return func(req *http.Request) (result, error) {
		w, err := wantedOf(p, req)
		if err != nil {
			return result{}, err
		}
		all := r.manager.RuleGroups()
		if w.after != "" {
			at := slices.IndexFunc(all, func(g *rules.Group) bool { return token(g) == w.after })
			if at < 0 {
				return result{}, invalid("group_next_token", fmt.Errorf("%q not found: the rules have changed", w.after))
			}
			all = all[at:]
		}
		var data struct {
			Groups []group `json:"groups"`
			Next   string  `json:"groupNextToken,omitempty"`
		}
		data.Groups = []group{}
		for _, g := range all {
			if len(w.groups) > 0 && !slices.Contains(w.groups, g.Name()) || len(w.files) > 0 && !slices.Contains(w.files, g.File()) {
				continue
			}
			found := w.of(g)
			if len(found) == 0 {
				continue
			}
			if w.limit > 0 && len(data.Groups) == w.limit {
				data.Next = token(g)
				break
			}
			data.Groups = append(data.Groups, group{g.Name(), g.File(), found, g.Interval().Seconds(), g.Limit(), g.GetEvaluationTime().Seconds(), g.GetLastEvaluation()})
		}
		return result{data: data}, nil
	}
}

// of lists the wanted rules of a group, in its order.
func (w wanted) of(g *rules.Group) []any {
	var out []any
	for _, r := range g.Rules(w.matchers...) {
		if len(w.rules) > 0 && !slices.Contains(w.rules, r.Name()) {
			continue
		}
		e := evaluated{Health: r.Health(), EvaluationTime: r.GetEvaluationDuration().Seconds(), LastEvaluation: r.GetEvaluationTimestamp()}
		if err := r.LastError(); err != nil {
			e.LastError = err.Error()
		}
		switch rule := r.(type) {
		case *rules.AlertingRule:
			e.Type = "alerting"
			var alerts []active
			if !w.without {
				alerts = activeOf(rule)
			}
			if w.kind != "record" {
				out = append(out, alerting{rule.State().String(), rule.Name(), rule.Query().String(), rule.HoldDuration().Seconds(), rule.KeepFiringFor().Seconds(),
					rule.Labels(), rule.Annotations(), alerts, e})
			}
		case *rules.RecordingRule:
			e.Type = "recording"
			if w.kind != "alert" {
				out = append(out, recording{rule.Name(), rule.Query().String(), rule.Labels(), e})
			}
		}
	}
	return out
}
