package rules

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// formerKey returns the present name of a key that files of earlier releases have,
// "" if it is no former one.
func formerKey(key string) string {
	switch key {
	case "witness":
		return "corroborates"
	case "clues":
		return "features"
	}
	return ""
}

// formerMeasure returns the present name of a measure, "" if it is no former one.
func formerMeasure(name string) explain.Measure {
	switch name {
	case "tells":
		return explain.PauseSent
	case "tells_idle":
		return explain.PauseSentIdle
	case "told":
		return explain.PauseReceived
	case "standing_stop":
		return explain.LoopPauseReceived
	case "stops_kept":
		return explain.PauseSentRatio
	case "told_work_excess":
		return explain.ReportedExcess
	case "fell_silent":
		return explain.StoppedReporting
	}
	return formerFraction(name)
}

// formerFraction is formerMeasure for those of how much a root explains and which part
// of the affected set is under it.
func formerFraction(name string) explain.Measure {
	switch name {
	case "dose":
		return explain.Explained
	case "sure_dose":
		return explain.ExplainedLowerBound
	case "clock_dose", "fabric_dose", "group_dose", "idle_dose", "shared_dose":
		return explain.Measure(strings.Replace(name, "dose", "explained", 1))
	case "covers", "late_covers", "idle_covers", "stale_covers":
		return explain.Measure(strings.Replace(name, "covers", "recall", 1))
	case "fills", "late_fills", "idle_fills", "stage_fills", "expert_fills":
		return explain.Measure(strings.Replace(name, "fills", "precision", 1))
	}
	return ""
}

// formerTake returns the present name of a take, "" if it is no former one.
func formerTake(name string) explain.Take {
	switch name {
	case "dose":
		return explain.TakeExplained
	case "peers_dose":
		return explain.TakePeersExplained
	case "silent":
		return explain.TakeNoData
	}
	return ""
}

// renamed warns that a file has a former name.
func (r *reader) renamed(p at, key, old, now string) {
	if key != "" {
		key += ": "
	}
	r.warn(p, "%s%s is now %s", key, old, now)
}

// measure reads the name of a measure.
func (r *reader) measure(n *yaml.Node) explain.Measure {
	name := r.text(n, "measure")
	if now := formerMeasure(name); now != "" {
		r.renamed(place(n), "measure", name, string(now))
		return now
	}
	return explain.Measure(name)
}

// take reads what number a feature makes of a metric.
func (r *reader) take(p at, name string) explain.Take {
	if now := formerTake(name); now != "" {
		r.renamed(p, "take", name, string(now))
		return now
	}
	return explain.Take(name)
}

// placeholders gives the placeholders of the texts of a signature the present names of
// measures. A feature of the signature may have a former name as its own: then it is meant.
func (r *reader) placeholders(s *parsed) {
	r.present(s, s.at.sentence, "sentence", &s.Sentence)
	if s.Precursor != nil {
		r.present(s, s.at.precursor, "sentence", &s.Precursor.Sentence)
	}
	for i := range s.Features {
		r.present(s, s.at.whys[i], "why", &s.Features[i].Why)
	}
	for i := range s.Actions {
		r.present(s, s.at.texts[i], "text", &s.Actions[i].Text)
	}
}

// present replaces the former placeholders of a text.
func (r *reader) present(s *parsed, p at, key string, text *string) {
	var out strings.Builder
	rest := *text
	for {
		before, after, open := strings.Cut(rest, "{")
		out.WriteString(before)
		if !open {
			break
		}
		end := strings.IndexAny(after, "|}")
		if end < 0 { // words reports it
			out.WriteString("{" + after)
			break
		}
		name := after[:end]
		own := slices.ContainsFunc(s.Features, func(f explain.Feature) bool { return f.Name == name })
		if now := formerMeasure(name); now != "" && !own {
			r.renamed(p, key, "{"+name+"}", "{"+string(now)+"}")
			name = string(now)
		}
		out.WriteString("{" + name)
		rest = after[end:]
	}
	*text = out.String()
}
