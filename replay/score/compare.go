package score

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Compare prints how the totals decay over several reports, one line each,
// such as those of one set of runs with every K-th sample kept. Reports print
// in the order given, named by their Coarsen.
func Compare(w io.Writer, reports []Report) error {
	p := &printer{tab: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	p.line("sample\t%s", columns)
	for i := range reports {
		d := &reports[i].Detail
		p.group(fmt.Sprintf("1 in %d", d.Coarsen), d.Total)
	}
	p.heading("by class: roots right first, and incidents that are false")
	p.line("class%s", headings(reports))
	for _, name := range classesOf(reports) {
		line := name
		for i := range reports {
			g := reports[i].Detail.Classes[name].Detail
			line += fmt.Sprintf("\t%s, %d", of(g.RightFirst, g.Faults), g.FalseIncidents)
		}
		p.line("%s", line)
	}
	return p.finish()
}

func headings(reports []Report) string {
	var out string
	for i := range reports {
		out += fmt.Sprintf("\t1 in %d", reports[i].Detail.Coarsen)
	}
	return out
}

// classesOf lists the classes of any of the reports.
func classesOf(reports []Report) []string {
	all := map[string]bool{}
	for i := range reports {
		for name := range reports[i].Detail.Classes {
			all[name] = true
		}
	}
	return sortedKeys(all)
}
