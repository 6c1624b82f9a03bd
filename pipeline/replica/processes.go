package replica

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/survey"
)

// maxNamed bounds the processes that one row of the survey names.
const maxNamed = 20

// access returns the rows of the survey about processes: whether they state only what
// they may, where anything is granted, and whether they stay within their budgets.
func access(processes []grants.ProcessState) (rows []survey.Requirement) {
	limited := 0
	for _, p := range processes {
		if p.Grant != nil {
			limited++
		}
	}
	if limited > 0 {
		row := survey.Requirement{ID: "grants", Area: "access", What: "Processes state only what they were enrolled for", State: survey.Met,
			By: []string{fmt.Sprintf("%d processes with a grant, %d without", limited, len(processes)-limited)}}
		if list := refusals(processes, func(why grants.Reason) bool { return !why.Budget() }); list != "" {
			row.State = survey.Partly
			row.Do = "records refused: " + list + ". Enrol a process again with what it lacks, or find out who uses its credentials."
		}
		rows = append(rows, row)
	}
	if len(processes) == 0 {
		return rows
	}
	row := survey.Requirement{ID: "budgets", Area: "access", What: "Processes stay within their budgets", State: survey.Met,
		By: []string{count(len(processes))}}
	if list := refusals(processes, grants.Reason.Budget); list != "" {
		row.State = survey.Partly
		row.Do = "records over budget, refused: " + list + ". Find out why the process sends so much, or enrol it again with a larger budget (quintet enroll --budget)."
	}
	return append(rows, row)
}

// count is how many processes there are, in words.
func count(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// refusals lists which processes were refused how much, for reasons of one sort.
func refusals(processes []grants.ProcessState, sort func(grants.Reason) bool) string {
	var list []string
	for _, p := range processes {
		var of []string
		for _, why := range slices.Sorted(maps.Keys(p.Refused)) {
			if sort(why) {
				of = append(of, fmt.Sprintf("%d of %s", p.Refused[why], why))
			}
		}
		if len(of) > 0 {
			list = append(list, cmp.Or(p.Process, "the site")+": "+strings.Join(of, ", "))
		}
	}
	more := ""
	if n := len(list) - maxNamed; n > 0 {
		list, more = list[:maxNamed], fmt.Sprintf("; and %d more processes", n)
	}
	return strings.Join(list, "; ") + more
}
