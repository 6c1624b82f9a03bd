package assist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxQuery       = 4096 // bytes
	maxSteps       = 120  // points of a range, each series
	queryTimeout   = 15 * time.Second
	usualSteps     = 30
	smallestStep   = time.Second
	prometheusPath = "/prometheus/api/v1/"
)

// addMetrics adds the tool that asks the history.
func (t *tools) addMetrics(s *mcp.Server) {
	add(s, tool{"query_metrics", "Query metrics with PromQL",
		"PromQL over the site's history, at one instant or over a range. Metrics have the catalogue's names (gpu_power_watts, port_pfc_rx_pause_seconds_total …: counters are raw, take rate()); labels kind and name are the entity, with the parts of its name by kind (node, gpu, nic, switch, port …). By job: gpu_power_watts * on (kind, name) group_left (job) quintet_job_info."}, t.queryMetrics)
}

type queryIn struct {
	Query string `json:"query" jsonschema:"PromQL"`
	Time  string `json:"time,omitempty" jsonschema:"the instant (RFC 3339); default: the log's newest tick"`
	Start string `json:"start,omitempty" jsonschema:"for a range: its start (RFC 3339)"`
	End   string `json:"end,omitempty" jsonschema:"for a range: its end (RFC 3339); default: the log's newest tick"`
	Step  string `json:"step,omitempty" jsonschema:"for a range: such as 30s; default: about 30 points; at most 120"`
}

func (t *tools) queryMetrics(ctx context.Context, in queryIn) (*result, error) {
	if in.Query == "" || len(in.Query) > maxQuery {
		return nil, fmt.Errorf("query: want PromQL of at most %d bytes", maxQuery)
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	out := &result{tick: t.tick(ctx)}
	path, q, err := in.question(out.tick)
	if err != nil {
		return nil, err
	}
	var got struct {
		Data struct {
			Type   string `json:"resultType"`
			Result any    `json:"result"`
		} `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
		Infos    []string `json:"infos,omitempty"`
	}
	if err := t.get(ctx, prometheusPath+path, q, &got); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("the query took longer than %s: ask for less", queryTimeout)
		}
		return nil, err
	}
	n := 1
	if list, ok := got.Data.Result.([]any); ok {
		n = len(list)
		readable(list)
	}
	out.text = fmt.Sprintf("%d series (%s). Values are text, as Prometheus gives them.", n, got.Data.Type)
	out.data = map[string]any{"query": in.Query, "type": got.Data.Type, "result": got.Data.Result, "warnings": got.Warnings, "infos": got.Infos}
	return out, nil
}

// question is the request to the history.
func (in *queryIn) question(tick string) (path string, q url.Values, err error) {
	q = url.Values{"query": {in.Query}}
	if in.Start == "" {
		if in.End != "" || in.Step != "" {
			return "", nil, errors.New("start: required for a range")
		}
		at, err := instant("time", in.Time, tick)
		if err != nil {
			return "", nil, err
		}
		q.Set("time", unix(at))
		return "query", q, nil
	}
	if in.Time != "" {
		return "", nil, errors.New("time: an instant and a range at once: want one of them")
	}
	from, err := instant("start", in.Start, "")
	if err != nil {
		return "", nil, err
	}
	to, err := instant("end", in.End, tick)
	if err != nil {
		return "", nil, err
	}
	if !to.After(from) {
		return "", nil, errors.New("end: is not after start")
	}
	step := max(time.Duration(math.Ceil(to.Sub(from).Seconds()/usualSteps))*time.Second, smallestStep)
	if in.Step != "" {
		if step, err = time.ParseDuration(in.Step); err != nil || step < smallestStep {
			return "", nil, fmt.Errorf("step: %.20q: want a length such as 30s, at least %s", in.Step, smallestStep)
		}
	}
	if n := to.Sub(from) / step; n > maxSteps {
		return "", nil, fmt.Errorf("step: %s over %s is %d points: at most %d", step, to.Sub(from), n, maxSteps)
	}
	q.Set("start", unix(from))
	q.Set("end", unix(to))
	q.Set("step", strconv.FormatFloat(step.Seconds(), 'f', -1, 64))
	return "query_range", q, nil
}

func instant(field, text, otherwise string) (time.Time, error) {
	if text == "" {
		text = otherwise
	}
	if text == "" {
		return time.Now(), nil // no engine reports the log's time
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, fmt.Errorf("%s: %.40q: want a time such as 2026-11-21T09:30:00Z (RFC 3339)", field, text)
	}
	return at, nil
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// readable turns Prometheus' seconds since 1970 into times that a person reads,
// and that are cited.
func readable(series []any) {
	for _, s := range series {
		m, ok := s.(map[string]any)
		if !ok {
			continue
		}
		if v, ok := m["value"].([]any); ok {
			readableTime(v)
		}
		values, _ := m["values"].([]any)
		for _, v := range values {
			if v, ok := v.([]any); ok {
				readableTime(v)
			}
		}
	}
}

func readableTime(sample []any) {
	if len(sample) != 2 {
		return
	}
	n, ok := sample[0].(json.Number)
	if !ok {
		return
	}
	if s, err := n.Float64(); err == nil && math.Abs(s) < 1e11 {
		sample[0] = time.UnixMilli(int64(math.Round(s * 1000))).UTC().Format(time.RFC3339Nano)
	}
}
