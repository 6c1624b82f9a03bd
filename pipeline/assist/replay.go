package assist

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// maxTrace bounds the trace that is replayed. An incident of a pod has some ten
	// megabytes; the server's memory is no place for a day of a large site.
	maxTrace = 256 << 20
	// replayTimeout leaves time to answer before the server ends the request.
	replayTimeout = 45 * time.Second
	maxLast       = 2 * time.Hour
)

// addReplay adds the tool that makes the engine answer again.
func (t *tools) addReplay(s *mcp.Server) {
	add(s, tool{"replay_incident", "Replay an incident",
		"Runs the engine again over the recorded log of an incident (from 15 minutes before its onset to 5 after its end), or of the last minutes, and reports whether the answer is the same, and what differs. One at a time, at most 45 seconds."}, t.replayIncident)
}

type replayIn struct {
	ID   string `json:"id,omitempty" jsonschema:"the incident's id"`
	Last string `json:"last,omitempty" jsonschema:"in its place, a length of time up to now, such as 15m; at most 2h"`
}

// outcome is the result of a replay for one incident.
type outcome struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Same        bool      `json:"same"`
	Differences []string  `json:"differences"`
	Published   *answerOf `json:"published"`
	Replayed    *answerOf `json:"replayed"`
}

// answerOf is an answer as far as it is compared.
type answerOf struct {
	Root       string  `json:"root"`
	Signature  string  `json:"signature"`
	State      string  `json:"state"`
	Severity   string  `json:"severity"`
	Confidence float64 `json:"confidence"`
}

func (t *tools) replayIncident(ctx context.Context, in replayIn) (*result, error) {
	if t.cfg.Replay == nil {
		return nil, errors.New("this server cannot replay")
	}
	q, since, err := in.question()
	if err != nil {
		return nil, err
	}
	var published []explain.Incident
	if in.ID != "" {
		var x explain.Incident
		if err := t.incident(ctx, in.ID, "", &x); err != nil {
			return nil, err
		}
		published = append(published, x)
	}
	select {
	case t.replaying <- struct{}{}:
		defer func() { <-t.replaying }()
	default:
		return nil, errors.New("another replay is running: ask again when it is done")
	}
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	got, err := t.run(ctx, q)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the replay took longer than %s: quintet capture and quintet replay on a machine of your own have no such bound", replayTimeout)
		}
		return nil, err
	}
	if in.ID == "" {
		if published, err = t.within(ctx, got.From, got.To); err != nil {
			return nil, err
		}
	}
	return t.compared(ctx, in, got, compare(published, got.Incidents, since))
}

// question is the request for the capture.
func (in *replayIn) question() (q url.Values, only string, err error) {
	switch {
	case (in.ID == "") == (in.Last == ""):
		return nil, "", errors.New("id, last: want one of them")
	case in.ID != "":
		return url.Values{"incident": {in.ID}}, in.ID, checkID(in.ID)
	}
	d, err := time.ParseDuration(in.Last)
	if err != nil || d <= 0 || d > maxLast {
		return nil, "", fmt.Errorf("last: %.20q: want a length such as 15m, at most %s", in.Last, maxLast)
	}
	return url.Values{"last": {in.Last}}, "", nil
}

// run captures and replays.
func (t *tools) run(ctx context.Context, q url.Values) (*Replayed, error) {
	f, err := os.CreateTemp(t.cfg.Scratch, "quintet-replay-*.qtrace")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	err = t.cfg.API.Get(ctx, "/api/v1/capture", q, &bounded{f, maxTrace})
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if errors.Is(err, errLong) {
		return nil, fmt.Errorf("its trace has more than %d MiB, which is not replayed here: quintet capture and quintet replay do", maxTrace>>20)
	}
	if err != nil {
		return nil, err
	}
	return t.cfg.Replay(ctx, f.Name())
}

// within returns the incidents that were published within an interval of time.
func (t *tools) within(ctx context.Context, from, to telemetry.Time) ([]explain.Incident, error) {
	var got struct {
		Incidents []explain.Incident `json:"incidents"`
	}
	if err := t.get(ctx, "/api/v1/incidents", parameters("since", from.String()), &got); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(got.Incidents, func(x explain.Incident) bool { return x.Opened > to }), nil
}

// compare compares the published revisions with those of a replay; only names the
// one incident that is asked about, "" all of them.
func compare(published, replayed []explain.Incident, only string) []outcome {
	out := []outcome{}
	for i := range published {
		p := &published[i]
		o := outcome{ID: p.ID, Title: p.Title, Published: answered(p), Differences: []string{}}
		r := twin(p, replayed)
		if r == nil {
			o.Differences = append(o.Differences, "the replay does not find it")
		} else {
			o.Replayed = answered(r)
			o.Differences = append(o.Differences, differences(p, r)...)
		}
		o.Same = len(o.Differences) == 0
		out = append(out, o)
	}
	for i := range replayed {
		r := &replayed[i]
		if only == "" && twin(r, published) == nil {
			out = append(out, outcome{ID: r.ID, Title: r.Title, Replayed: answered(r), Differences: []string{"only the replay finds it"}})
		}
	}
	return out
}

func answered(x *explain.Incident) *answerOf {
	return &answerOf{x.Root.Entity.String(), x.Root.Signature, x.State, x.Severity, x.Root.Confidence}
}

// twin is the incident of the same name or, since the grid that opens one is a
// part of its name and a cold engine may need longer, of the same root and fault
// at about the same time.
func twin(x *explain.Incident, among []explain.Incident) *explain.Incident {
	if i := slices.IndexFunc(among, func(y explain.Incident) bool { return y.ID == x.ID }); i >= 0 {
		return &among[i]
	}
	const apart = telemetry.Duration(2 * time.Minute)
	i := slices.IndexFunc(among, func(y explain.Incident) bool {
		d := y.Onset.Earliest.Sub(x.Onset.Earliest)
		return y.Root.Entity == x.Root.Entity && y.Root.Signature == x.Root.Signature && -apart < d && d < apart
	})
	if i < 0 {
		return nil
	}
	return &among[i]
}

// differences are those that would make a person act otherwise.
func differences(p, r *explain.Incident) (out []string) {
	differ := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s: published %s, replayed %s", what, was, is))
		}
	}
	differ("id", p.ID, r.ID)
	differ("root", p.Root.Entity.String(), r.Root.Entity.String())
	differ("signature", p.Root.Signature, r.Root.Signature)
	differ("kind", p.Kind, r.Kind)
	differ("severity", p.Severity, r.Severity)
	differ("jobs", jobs(p), jobs(r))
	if d := p.Root.Confidence - r.Root.Confidence; d > 0.05 || d < -0.05 {
		out = append(out, fmt.Sprintf("confidence: published %.2f, replayed %.2f", p.Root.Confidence, r.Root.Confidence))
	}
	return out
}

func jobs(x *explain.Incident) string {
	var all []string
	for _, j := range x.Impact.Jobs {
		all = append(all, j.Job.String())
	}
	slices.Sort(all)
	return names(all, len(all))
}

// compared returns the result of a comparison.
func (t *tools) compared(ctx context.Context, in replayIn, got *Replayed, outcomes []outcome) (*result, error) {
	same := 0
	for _, o := range outcomes {
		if o.Same {
			same++
		}
	}
	how := "It began with the engine's state of that moment."
	if !got.Warm {
		how = "It began cold: an answer that leans on a longer past may differ."
	}
	text := fmt.Sprintf("Replayed from %s to %s: %d of %s the same. %s", got.From, got.To, same, plural(len(outcomes), "answer"), how)
	if in.ID != "" && len(outcomes) == 1 {
		text = fmt.Sprintf("Replayed from %s to %s: %s. %s", got.From, got.To, map[bool]string{true: "the answer is the same", false: "the answer differs"}[outcomes[0].Same], how)
	}
	out := &result{text: text, tick: t.tick(ctx), from: got.From, to: got.To,
		data: map[string]any{"same": same == len(outcomes), "incidents": outcomes, "from": got.From, "to": got.To, "warm": got.Warm,
			"engine": got.Engine, "rules": got.Rules, "warnings": got.Warnings}}
	if in.ID != "" {
		out.page = pageOf(in.ID)
	}
	return out, nil
}
