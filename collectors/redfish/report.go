package redfish

import (
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// report is a metric report: rows of properties of other resources.
type report struct {
	rows    []row
	dropped map[collectors.Reason]int
}

// row is the newest value of one property.
type row struct {
	property string // as the report writes it
	value    any
	at       time.Time // zero if not stated
	stale    bool      // the service reports that it could not read it again
}

const maxRows = 16384

// readReport reads a report. Of several values of a property only the newest is
// kept: the older ones are history that a periodic report still carries.
func readReport(doc map[string]any) *report {
	out := &report{dropped: map[collectors.Reason]int{}}
	values, _ := doc["MetricValues"].([]any)
	place := map[string]int{}
	for _, x := range values {
		m, ok := x.(map[string]any)
		property, _ := m["MetricProperty"].(string)
		switch {
		case !ok:
			out.dropped[collectors.Malformed]++
			continue
		case property == "":
			out.dropped[collectors.Unknown]++ // only a MetricId: of which resource is not stated
			continue
		case len(out.rows) >= maxRows:
			out.dropped[collectors.OverLimit]++
			continue
		}
		r := row{property: property, value: m["MetricValue"], at: parseTime(textAt(m, "Timestamp")), stale: textAt(m, "Oem", "Nvidia", "MetricValueStale") == "true"}
		k, seen := place[property]
		switch {
		case !seen:
			place[property] = len(out.rows)
			out.rows = append(out.rows, r)
		case r.at.Before(out.rows[k].at):
			out.dropped[collectors.Stale]++
		default:
			out.dropped[collectors.Stale]++
			out.rows[k] = r
		}
	}
	return out
}

// parseTime reads a time as Redfish writes it; zero where it is invalid.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006/01/02T15:04:05Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}

// binding is where a row's property goes.
type binding struct {
	reading
	known bool   // false: no rule maps it
	ask   string // the resource must be read before anybody knows
}

// keyOf is the property of a row as readings name theirs: path#/Place, without
// the Reading or SetPoint that an excerpt adds. A row that names a whole sensor means its
// reading.
func keyOf(property string) (key, path string, fragment []string) {
	path, inside, _ := strings.Cut(property, "#")
	path = clean(path)
	inside = strings.Trim(inside, "/")
	for _, end := range []string{"/Reading", "/SetPoint"} {
		if short, ok := strings.CutSuffix(inside, end); ok {
			inside = short
		}
	}
	if inside == "" {
		inside = "Reading"
	}
	return path + "#/" + inside, path, strings.Split(inside, "/")
}

// bind returns where a row goes by the mapping alone. Where that depends on other
// properties of the resource, it asks for the resource.
func (v *view) bind(property string) binding {
	key, path, fragment := keyOf(property)
	parts, ok := split(path)
	if !ok {
		return binding{}
	}
	ask := ""
	for i := range v.rules.rules {
		r := &v.rules.rules[i]
		if !r.fits(v.self.Kind) {
			continue
		}
		captures, ok := r.path.match(parts)
		if !ok {
			continue
		}
		at := fragment
		if r.Each != nil {
			if len(at) <= len(r.Each)+1 || strings.Join(at[:len(r.Each)], "/") != strings.Join(r.Each, "/") {
				continue
			}
			at = at[len(r.Each)+1:]
		}
		for k := range r.Readings {
			rr := &r.Readings[k]
			if strings.Join(rr.Place, "/") != strings.Join(at, "/") {
				continue
			}
			if len(r.Where) > 0 || rr.UnitFrom != nil || r.Each != nil {
				ask = path
				continue
			}
			if len(r.Chassis) > 0 && v.chassis[strings.ToLower(parts[1])] == "" {
				ask = root + "/" + strings.Join(parts[:2], "/")
				continue
			}
			if _, ok := v.governs(r, parts); !ok {
				continue
			}
			e, ok := v.entityOf(r, path, &scope{self: v.self, captures: captures})
			if !ok {
				continue
			}
			return binding{known: true, reading: reading{series: series{e, rr.Metric}, from: key,
				column: rr.quantity.Column, reduce: rr.Reduce, pace: r.Pace, rule: rr, quantity: rr.quantity}}
		}
	}
	return binding{ask: ask}
}

// take reads a row's value.
func (b *binding) take(r *row) (reading, collectors.Reason) {
	out := b.reading
	why := collectors.Stale
	if !r.stale {
		out.word, why = read(out.quantity, r.value)
	}
	out.gap = why != ""
	return out, why
}
