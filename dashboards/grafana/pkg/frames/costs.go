package frames

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/api"
)

const domainUnknown = "unknown"

// CouplingMatrix makes a table: a row for the domain that a loss came from, a
// column for the one that it went to.
func CouplingMatrix(c *client.Matrix) *data.Frame {
	n := len(c.Domains)
	from := text("from", n).called("From")
	columns := []column{from}
	for j, to := range c.Domains {
		cell := exact(to, n).unit(unitSeconds).about("GPU-seconds lost through links from the row's domain to " + to)
		for i := range n {
			cell.Set(i, c.Coupling[i][j])
		}
		columns = append(columns, cell)
	}
	for i, d := range c.Domains {
		from.Set(i, d)
	}
	return table("coupling", columns...)
}

// CouplingPairs makes a table: a row for each pair of domains.
func CouplingPairs(c *client.Matrix) *data.Frame {
	n := len(c.Domains) * len(c.Domains)
	from, to := text("from", n).called("From"), text("to", n).called("To")
	lost, lag := exact("gpu_seconds_lost", n), number("lag_seconds", n)
	for i, a := range c.Domains {
		for j, b := range c.Domains {
			r := i*len(c.Domains) + j
			from.Set(r, a)
			to.Set(r, b)
			lost.Set(r, c.Coupling[i][j])
			lag.Set(r, c.LagSeconds[i][j])
		}
	}
	return table("coupling", from.mapped(domainColours()), to.mapped(domainColours()),
		lost.called("GPU time lost").unit(unitSeconds), lag.called("Lag").unit(unitSeconds).about("median, weighted by loss"))
}

// CouplingGraph makes a node graph of the five domains.
func CouplingGraph(c *client.Matrix) []*data.Frame {
	g := newGraph()
	for i, d := range c.Domains {
		own := c.Coupling[i][i]
		g.node(node{id: d, title: d, main: lostText(own), second: "inside", domain: d})
	}
	most := 0.0
	for i := range c.Domains {
		for j := range c.Domains {
			if i != j {
				most = max(most, c.Coupling[i][j])
			}
		}
	}
	for i, a := range c.Domains {
		for j, b := range c.Domains {
			if i == j || c.Coupling[i][j] == 0 {
				continue
			}
			e := edge{from: a, to: b, main: lostText(c.Coupling[i][j]), thick: 1 + 9*c.Coupling[i][j]/most}
			if lag := c.LagSeconds[i][j]; lag != nil {
				e.second = fmt.Sprintf("after %.3g s", *lag)
			}
			g.edge(e)
		}
	}
	return g.frames()
}

func lostText(gpuSeconds float64) string {
	switch {
	case gpuSeconds >= 36000:
		return fmt.Sprintf("%.0f GPU h", gpuSeconds/3600)
	case gpuSeconds >= 3600:
		return fmt.Sprintf("%.1f GPU h", gpuSeconds/3600)
	}
	return fmt.Sprintf("%.0f GPU s", gpuSeconds)
}

// Budget finds the budget of a job, or that of the fleet where job is empty.
func Budget(b *client.Budgets, job string) (*client.AttributeBudget, bool) {
	if job == "" {
		return &b.Fleet, true
	}
	for i := range b.Jobs {
		if k := &b.Jobs[i]; k.Job != nil && (*k.Job == job || *k.Job == "job:"+job) {
			return k, true
		}
	}
	return nil, false
}

// budgetRows are the parts in their order, then the remainder. The achieved part
// comes last: the waterfall ends at it.
func budgetRows(b *client.AttributeBudget) []client.PartAmount {
	rows := slices.Clone(b.Parts)
	rows = append(rows, observed("unexplained", b.Unexplained))
	if b.Achieved != nil {
		rows = append(rows, observed("achieved", *b.Achieved))
	}
	return rows
}

// observed returns an amount as a part that was observed.
func observed(part string, a client.Amount) client.PartAmount {
	return client.PartAmount{Part: part, GPUSeconds: &a.GPUSeconds, Share: &a.Share, Observed: 1}
}

// BudgetWaterfall makes a table of the parts: from is the remainder before a part
// is subtracted, to the remainder after it. Null parts cannot be observed.
func BudgetWaterfall(b *client.AttributeBudget) *data.Frame {
	rows := budgetRows(b)
	n := len(rows)
	part, domain := text("part", n).called("Part"), optionalText("domain", n)
	spent, share := number("gpu_seconds", n), number("share", n)
	from, to, observed := number("from", n), number("to", n), exact("observed", n)
	left := b.GPUSeconds
	for r, p := range rows {
		part.Set(r, p.Part)
		domain.Set(r, p.Domain)
		spent.Set(r, p.GPUSeconds)
		share.Set(r, p.Share)
		observed.Set(r, p.Observed)
		if p.GPUSeconds == nil {
			continue
		}
		before := left
		left -= *p.GPUSeconds
		after := max(left, 0) // sums of roundings must not fall below nothing
		from.Set(r, &before)
		to.Set(r, &after)
	}
	f := table("budget", part, domain.called("Domain").mapped(domainColours()),
		spent.called("GPU time").unit(unitSeconds), share.called("Share").unit(unitShare),
		from.called("From").unit(unitSeconds), to.called("To").unit(unitSeconds),
		observed.called("Observed").unit(unitShare).about("the share of the GPU time for which this could be told"))
	f.Meta.Custom = budgetMeta(b)
	return f
}

// BudgetWide makes one row with a field for each part: for bars, pies, gauges.
func BudgetWide(b *client.AttributeBudget) *data.Frame {
	columns := []column{}
	for _, p := range budgetRows(b) {
		c := number(p.Part, 1).unit(unitShare)
		c.Set(0, p.Share)
		if p.Domain != nil {
			c.config().Color = map[string]any{"mode": "fixed", "fixedColor": colour(*p.Domain)}
		}
		columns = append(columns, c)
	}
	f := table("budget", columns...)
	f.Meta = &data.FrameMeta{Type: data.FrameTypeNumericWide, TypeVersion: data.FrameTypeVersion{0, 1}, Custom: budgetMeta(b)}
	return f
}

func budgetMeta(b *client.AttributeBudget) map[string]any {
	return map[string]any{"gpu_seconds": b.GPUSeconds, "mfu": b.MFU.Palm, "mfu_basis": b.MFU.Basis, "from": b.From, "to": b.To}
}

// LossesByCause makes a table, the largest loss first.
func LossesByCause(l *client.Losses) *data.Frame {
	n := len(l.Causes)
	if l.Unknown.GPUSecondsLost > 0 {
		n++
	}
	root, signature, domain := text("root", n).called("Root"), text("signature", n).called("Fault"), text("domain", n)
	lost, share, mfu := exact("gpu_seconds_lost", n), number("share", n), number("mfu_lost", n)
	jobs := text("jobs", n).called("Jobs")
	for r, k := range l.Causes {
		root.Set(r, k.Root)
		signature.Set(r, k.Signature)
		domain.Set(r, domainUnknown)
		if k.Domain != nil {
			domain.Set(r, *k.Domain)
		}
		lost.Set(r, k.GPUSecondsLost)
		share.Set(r, shareOf(k.GPUSecondsLost, l.GPUSecondsLost))
		mfu.Set(r, k.MFULost)
		jobs.Set(r, names(k.Jobs))
	}
	if n > len(l.Causes) {
		r := n - 1
		root.Set(r, domainUnknown)
		domain.Set(r, domainUnknown)
		lost.Set(r, l.Unknown.GPUSecondsLost)
		share.Set(r, shareOf(l.Unknown.GPUSecondsLost, l.GPUSecondsLost))
		mfu.Set(r, l.Unknown.MFULost)
	}
	return table("losses", root, signature, domain.called("Domain").mapped(domainColours()),
		lost.called("GPU time lost").unit(unitSeconds), share.called("Share").unit(unitShare),
		mfu.called("MFU lost").unit(unitShare), jobs)
}

// LossesByJob makes a table, the largest loss first.
func LossesByJob(l *client.Losses) *data.Frame {
	n := len(l.Jobs)
	job, lost := text("job", n).called("Job"), exact("gpu_seconds_lost", n)
	available, share, mfu := number("available_gpu_seconds", n), number("share", n), number("mfu_lost", n)
	worst := text("root", n).called("Largest cause")
	for r, j := range l.Jobs {
		job.Set(r, short(j.Job))
		lost.Set(r, j.GPUSecondsLost)
		available.Set(r, j.AvailableGPUSeconds)
		if j.AvailableGPUSeconds != nil {
			share.Set(r, shareOf(j.GPUSecondsLost, *j.AvailableGPUSeconds))
		}
		mfu.Set(r, j.MFULost)
		if len(j.Causes) > 0 {
			worst.Set(r, j.Causes[0].Root)
		}
	}
	return table("losses", job, lost.called("GPU time lost").unit(unitSeconds),
		available.called("GPU time available").unit(unitSeconds), share.called("Share lost").unit(unitShare),
		mfu.called("MFU lost").unit(unitShare), worst)
}

// lossesOf returns the losses of the five domains and that without a domain.
func lossesOf(list []client.DomainLoss, unknown float64) map[string]float64 {
	out := map[string]float64{domainUnknown: unknown}
	for _, d := range list {
		out[d.Domain] = d.GPUSecondsLost
	}
	return out
}

// LossesByDomain makes a table of the losses of the five domains and of that
// without a domain.
func LossesByDomain(l *client.Losses) *data.Frame {
	by := lossesOf(l.Domains, l.Unknown.GPUSecondsLost)
	all := append(domains(), domainUnknown)
	domain, lost, share := text("domain", len(all)), exact("gpu_seconds_lost", len(all)), number("share", len(all))
	for r, d := range all {
		domain.Set(r, d)
		lost.Set(r, by[d])
		share.Set(r, shareOf(by[d], l.GPUSecondsLost))
	}
	return table("losses", domain.called("Domain").mapped(domainColours()),
		lost.called("GPU time lost").unit(unitSeconds), share.called("Share").unit(unitShare))
}

// LossesByDay makes a heat map, or series, of days by domains, as far as they
// lie in the range.
func LossesByDay(l *client.Losses, from, to time.Time) (*data.Frame, error) {
	type day struct {
		at   time.Time
		loss map[string]float64
	}
	var days []day
	for _, d := range slices.Backward(l.Days) { // they come newest first
		at, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			return nil, &api.Garbage{Path: "/api/v1/losses", Why: err.Error()}
		}
		if at.After(to) || !at.AddDate(0, 0, 1).After(from) {
			continue
		}
		days = append(days, day{at, lossesOf(d.Domains, d.UnknownGPUSecondsLost)})
	}
	at := moment("time", len(days))
	columns := []column{at}
	for _, d := range append(domains(), domainUnknown) {
		c := exact(d, len(days)).unit(unitSeconds)
		c.config().Color = map[string]any{"mode": "fixed", "fixedColor": colour(d)}
		for r, k := range days {
			at.Set(r, k.at)
			c.Set(r, k.loss[d])
		}
		columns = append(columns, c)
	}
	f := table("losses", columns...)
	f.Meta = &data.FrameMeta{Type: heatmapRows}
	return f, nil
}

// heatmapRows is a time and a field for each row of a heat map; the SDK has no name
// for it, @grafana/data does (DataFrameType.HeatmapRows).
const heatmapRows data.FrameType = "heatmap-rows"

// LossRate makes numbers to alert on: GPU-seconds lost per hour of the window,
// by domain. With job it is that job's alone.
func LossRate(l *client.Losses) (*data.Frame, error) {
	hours := l.To.Sub(l.From).Hours()
	if hours <= 0 {
		return nil, &api.Garbage{Path: "/api/v1/losses", Why: "its window has no length"}
	}
	by := lossesOf(l.Domains, l.Unknown.GPUSecondsLost)
	all := append(domains(), domainUnknown)
	domain, rate := text("domain", len(all)), exact("gpu_seconds_lost_per_hour", len(all))
	for r, d := range all {
		domain.Set(r, d)
		rate.Set(r, by[d]/hours)
	}
	return numbers("loss rate", domain, rate.called("GPU-seconds lost per hour")), nil
}

// Bottlenecks makes a table: the fleet first, then each job.
func Bottlenecks(b *client.Bottlenecks) *data.Frame {
	f := b.Bottlenecks
	fleet := client.JobScores{Job: "fleet", CommunicationOverhead: f.CommunicationOverhead, DensityCap: f.DensityCap, LowMFU: f.LowMFU,
		MemoryWall: f.MemoryWall, RedundantComputation: f.RedundantComputation, ThermalLimit: f.ThermalLimit}
	rows := append([]client.JobScores{fleet}, b.Jobs...)
	n := len(rows)
	job := text("job", n).called("Job")
	score := func(name, title string, of func(*client.JobScores) *float64) column {
		c := number(name, n).called(title).unit(unitPercent)
		for r := range rows {
			c.Set(r, of(&rows[r]))
		}
		return c
	}
	for r := range rows {
		job.Set(r, short(rows[r].Job))
	}
	return table("bottlenecks", job,
		score("redundant_computation", "Redundant computation", func(s *client.JobScores) *float64 { return s.RedundantComputation }),
		score("low_mfu", "Low MFU", func(s *client.JobScores) *float64 { return s.LowMFU }),
		score("memory_wall", "Memory wall", func(s *client.JobScores) *float64 { return s.MemoryWall }),
		score("communication_overhead", "Communication", func(s *client.JobScores) *float64 { return s.CommunicationOverhead }),
		score("density_cap", "Power density", func(s *client.JobScores) *float64 { return s.DensityCap }),
		score("thermal_limit", "Heat", func(s *client.JobScores) *float64 { return s.ThermalLimit }))
}

func shareOf(part, whole float64) *float64 {
	if whole <= 0 {
		return nil
	}
	s := part / whole
	return &s
}

func names(entities []string) string {
	out := make([]string, len(entities))
	for i, e := range entities {
		out[i] = short(e)
	}
	return strings.Join(out, ", ")
}
