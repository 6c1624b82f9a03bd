package frames

import (
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// Jobs makes a table, one row for each.
func Jobs(list []client.Job, page string) *data.Frame {
	n := len(list)
	job, state, phase := text("job", n).called("Job"), text("state", n), text("phase", n).called("Phase")
	step, usual, slow := number("step_seconds", n), number("usual_step_seconds", n), number("slowdown", n)
	mfu, goodput, lost := number("mfu", n), number("goodput", n), number("work_lost_seconds", n)
	gpus, nodes := number("gpus", n), number("nodes", n)
	last, open := optionalMoment("last_step", n).called("Last step"), count("incidents", n).called("Open incidents")
	for r, j := range list {
		job.Set(r, short(j.Job))
		state.Set(r, j.State)
		phase.Set(r, j.Phase)
		step.Set(r, j.StepSeconds)
		usual.Set(r, j.UsualStepSeconds)
		slow.Set(r, j.Slowdown)
		mfu.Set(r, j.MFU)
		goodput.Set(r, j.Goodput)
		lost.Set(r, &j.WorkLostSeconds)
		gpus.Set(r, whole(j.GPUs))
		nodes.Set(r, whole(j.Nodes))
		last.Set(r, j.LastStep)
		open.Set(r, int64(len(j.Incidents)))
	}
	var url string
	if page != "" {
		url = page + "/jobs/${__data.fields.job}"
	}
	return table("jobs", job.links("Open in Quintet", url), state.called("State").mapped(jobColours()),
		step.called("Step").unit(unitSeconds), usual.called("Usual step").unit(unitSeconds), slow.called("Slowdown"),
		mfu.called("MFU").unit(unitShare), goodput.called("Goodput").unit(unitShare), gpus.called("GPUs"), nodes.called("Nodes"), open,
		lost.called("Work lost").unit(unitSeconds), phase, last)
}

func whole(n int64) *float64 {
	f := float64(n)
	return &f
}

func jobColours() data.ValueMappings {
	return data.ValueMappings{data.ValueMapper{
		"healthy":   {Text: "healthy", Color: "green", Index: 0},
		"slow":      {Text: "slow", Color: "orange", Index: 1},
		"stalled":   {Text: "stalled", Color: "dark-red", Index: 2},
		"failed":    {Text: "failed", Color: "dark-red", Index: 3},
		"restarted": {Text: "restarted", Color: "purple", Index: 4},
	}}
}

// Steps makes a series for each job: how long its recent steps took, as far as
// they ended in the range.
func Steps(list []client.Job, from, to time.Time) []*data.Frame {
	out := make([]*data.Frame, 0, len(list))
	for _, j := range list {
		var at []time.Time
		var took []*float64
		recent := client.Steps{}
		if j.Recent != nil {
			recent = *j.Recent
		}
		for k := range min(len(recent.T), len(recent.V)) {
			t := time.UnixMilli(recent.T[k]).UTC()
			if !t.Before(from) && !t.After(to) {
				at, took = append(at, t), append(took, &recent.V[k])
			}
		}
		value := column{data.NewField("step", data.Labels{"job": short(j.Job)}, took)}.unit(unitSeconds)
		f := data.NewFrame(short(j.Job), data.NewField("time", nil, at), value.called(short(j.Job)).Field)
		f.Meta = &data.FrameMeta{Type: data.FrameTypeTimeSeriesMulti, TypeVersion: data.FrameTypeVersion{0, 1}, PreferredVisualization: data.VisTypeGraph}
		out = append(out, f)
	}
	return out
}

// Only keeps the job that is asked for; all where none is.
func Only(list []client.Job, job string) []client.Job {
	if job == "" {
		return list
	}
	want := "job:" + strings.TrimPrefix(job, "job:")
	return slices.DeleteFunc(slices.Clone(list), func(j client.Job) bool { return j.Job != want })
}
