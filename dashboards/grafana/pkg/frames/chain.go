package frames

import (
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// Chain returns a node graph of the path from an incident's root to its jobs, with
// the alternative roots.
func Chain(i *client.Incident, page string) []*data.Frame {
	g := newGraph(detail{"why", "Why"}, detail{"measure", "Measure"}, detail{"onset", "Onset"},
		detail{"fault", "Fault"}, detail{"confidence", "Confidence"})
	root := rootOf(i)
	seen := map[string]string{} // entity: its first link's measure
	for _, l := range i.Chain {
		if _, ok := seen[l.Entity]; ok {
			continue
		}
		seen[l.Entity] = l.Metric
		n := node{id: l.Entity, title: short(l.Entity), sub: kindOf(l.Entity), domain: l.Domain, icon: iconOf(kindOf(l.Entity)),
			main: change(l), second: lag(l), root: root != "" && l.Entity == root,
			details: map[string]string{"why": l.Why, "measure": l.Metric, "onset": onset(l.Onset)}}
		if n.root {
			n.details["fault"] = i.Root.Signature
			n.details["confidence"] = fmt.Sprintf("%.3g %%", 100*i.Root.Confidence)
		}
		g.node(n)
	}
	if root != "" {
		g.node(node{id: root, title: short(root), sub: kindOf(root), domain: i.Root.Domain, icon: iconOf(kindOf(root)), root: true,
			main: i.Root.Signature, details: map[string]string{"fault": i.Root.Signature, "confidence": fmt.Sprintf("%.3g %%", 100*i.Root.Confidence), "onset": onset(i.Root.Onset)}})
	}
	type pair struct{ from, to string }
	drawn := map[pair]bool{}
	for _, l := range i.Chain {
		p := pair{l.From, l.Entity}
		if l.From == "" || l.From == l.Entity || drawn[p] {
			continue
		}
		drawn[p] = true
		g.node(node{id: l.From, title: short(l.From), sub: kindOf(l.From), icon: iconOf(kindOf(l.From))})
		g.edge(edge{from: l.From, to: l.Entity, main: l.Relation, second: lag(l), thick: 2})
	}
	for _, j := range i.Impact.Jobs {
		g.node(node{id: j.Job, title: short(j.Job), sub: j.State, domain: "software", icon: iconOf("job"), main: slower(j)})
		if root != "" && seen[j.Job] == "" && j.Job != root {
			g.edge(edge{from: root, to: j.Job, main: "degrades", dashed: true})
		}
	}
	out := g.frames()
	if page != "" {
		out[0].Fields[0].Config = &data.FieldConfig{Links: []data.DataLink{{Title: "Open the incident in Quintet", URL: page + "/incidents/" + i.ID, TargetBlank: true}}}
	}
	return out
}

// change formats the value of a measure before and now.
func change(l client.Link) string {
	if l.Metric == "" {
		return l.Shape
	}
	return fmt.Sprintf("%.3g → %.3g %s", l.Before, l.Now, l.Unit)
}

func lag(l client.Link) string {
	switch {
	case l.From == "":
		return "root"
	case l.LagUncertaintySeconds == 0:
		return fmt.Sprintf("%+.3g s", l.LagSeconds)
	}
	return fmt.Sprintf("%+.3g ± %.2g s", l.LagSeconds, l.LagUncertaintySeconds)
}

func onset(o client.Interval) string {
	if o.Earliest.IsZero() {
		return ""
	}
	half := o.Latest.Sub(o.Earliest) / 2
	return fmt.Sprintf("%s ± %s", o.Earliest.Add(half).UTC().Format("2006-01-02 15:04:05Z"), half.Round(100*time.Millisecond))
}

func slower(j client.JobImpact) string {
	if j.Slowdown != nil {
		return fmt.Sprintf("%.2f × slower", *j.Slowdown)
	}
	return j.State
}

// iconOf is one of Grafana's own icons.
func iconOf(kind string) string {
	switch kind {
	case "job", "rank":
		return "process"
	case "node", "gpu":
		return "cube"
	case "nic", "port", "optic", "queue":
		return "plug"
	case "switch", "nvswitch":
		return "sitemap"
	case "psu", "pdu", "feed", "shelf", "ups", "breaker", "battery":
		return "bolt"
	case "storage":
		return "database"
	}
	return ""
}
