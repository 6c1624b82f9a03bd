package label

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/quintet-dc/quintet/telemetry"
)

// The labels that every series of the log has, and the one for the container of an
// entity whose kind has no parts of its own.
const (
	Kind   = "kind"
	Name   = "name"
	Parent = "parent"
)

// Of returns the labels of a series: its metric, the kind and the name of its
// entity, and the parts of that name. A metric that carries labels of its own,
// as a foreign one does, gives them up; where one of them is taken already it is
// put behind "exported_", as Prometheus does.
func Of(s telemetry.Series) labels.Labels {
	name, foreign := split(string(s.Metric))
	b := labels.NewScratchBuilder(6 + len(foreign))
	taken := map[string]bool{}
	add := func(n, v string) {
		if v != "" {
			taken[n] = true
			b.Add(n, v)
		}
	}
	add(model.MetricNameLabel, name)
	Entity(s.Entity, add)
	for _, l := range foreign {
		n := l.Name
		for taken[n] {
			n = "exported_" + n
		}
		add(n, l.Value)
	}
	b.Sort()
	return b.Labels()
}

// Entity gives add the labels of an entity, one by one.
func Entity(e telemetry.Entity, add func(name, value string)) {
	add(Kind, string(e.Kind))
	add(Name, e.Name)
	if names := e.Kind.Parts(); len(names) > 0 {
		if values := strings.SplitN(e.Name, "/", len(names)); len(values) == len(names) {
			for i, n := range names {
				add(n, decoded(values[i]))
			}
			return
		}
	}
	if p := e.Prefix(); p != "" {
		add(Parent, decoded(p))
		add(string(e.Kind), decoded(e.Name[len(p)+1:]))
		return
	}
	add(string(e.Kind), decoded(e.Name))
}

// About returns the entity that the labels of an alert refer to: that of kind and
// name; else the innermost entity whose parts are all present, as left by a rule
// that aggregates; else the process that reports about itself.
func About(l map[string]string) telemetry.Entity {
	if e := (telemetry.Entity{Kind: telemetry.Kind(l[Kind]), Name: l[Name]}); e.Validate() == nil {
		return e
	}
	if l["job"] != own { // every series of our own has that for a job
		for _, k := range inner {
			if e, ok := of(k, l); ok {
				return e
			}
		}
	}
	if e, ok := named(telemetry.Collector, l["instance"]); ok {
		return e
	}
	return telemetry.Entity{Kind: telemetry.Collector, Name: own}
}

// own is the job of the series that a process states of itself.
const own = "quintet"

// inner are the kinds that labels may name implicitly, the innermost first.
var inner = [...]telemetry.Kind{telemetry.NVLink, telemetry.Queue, telemetry.GPU, telemetry.NIC, telemetry.NVSwitch, telemetry.Port, telemetry.Rank,
	telemetry.Node, telemetry.Switch, telemetry.Storage, telemetry.Loop, telemetry.CDU, telemetry.Pump, telemetry.CRAH, telemetry.Shelf, telemetry.PDU, telemetry.Feed,
	telemetry.Rack, telemetry.Row, telemetry.Hall, telemetry.Plane, telemetry.Rail, telemetry.Job}

// of is an entity of a kind by the labels of its parts.
func of(k telemetry.Kind, l map[string]string) (telemetry.Entity, bool) {
	names := k.Parts()
	if names == nil {
		names = []string{string(k)}
	}
	var values []string
	for _, n := range names {
		if l[n] == "" {
			return telemetry.Entity{}, false
		}
		values = append(values, telemetry.NamePart(l[n]))
	}
	e := telemetry.Entity{Kind: k, Name: strings.Join(values, "/")}
	return e, e.Validate() == nil
}

func named(k telemetry.Kind, name string) (telemetry.Entity, bool) {
	e := telemetry.Entity{Kind: k, Name: telemetry.NamePart(name)}
	return e, name != "" && e.Validate() == nil
}

// decoded writes a part as its owner does: a '/' in it is %2F in a name.
func decoded(part string) string {
	if !strings.Contains(part, "%") {
		return part
	}
	return strings.ReplaceAll(strings.ReplaceAll(part, "%2F", "/"), "%2f", "/")
}

// split separates a foreign series' labels from its metric's name:
// name{a="b",c="d"}, as package mapping writes it. A text of another form is a
// name, unchanged.
func split(metric string) (name string, foreign []labels.Label) {
	name, rest, ok := strings.Cut(metric, "{")
	if !ok || name == "" {
		return metric, nil
	}
	for {
		var l labels.Label
		if l.Name, rest, ok = strings.Cut(rest, `="`); !ok || l.Name == "" || l.Name == model.MetricNameLabel {
			return metric, nil
		}
		if l.Value, rest, ok = unquote(rest); !ok {
			return metric, nil
		}
		foreign = append(foreign, l)
		switch {
		case rest == "}":
			return name, foreign
		case !strings.HasPrefix(rest, ","):
			return metric, nil
		}
		rest = rest[1:]
	}
}

// unquote reads up to the quote that ends a value.
func unquote(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
