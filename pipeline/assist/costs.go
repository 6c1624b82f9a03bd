package assist

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addCosts adds the tools for losses.
func (t *tools) addCosts(s *mcp.Server) {
	add(s, tool{"get_losses", "Get what was lost, by cause",
		"GPU-seconds lost in a window by job, cause, domain and day, and how much MFU that is."}, t.getLosses)
	add(s, tool{"get_budget", "Get where GPU-seconds went",
		"The MFU budget: from all GPU-seconds down to the model's own arithmetic, part by part (restarts, checkpoints, input, heat, power, stragglers, communication …), of the fleet and of each job. A part that cannot be observed is null."}, t.getBudget)
	add(s, tool{"get_coupling", "Get the coupling of the five domains",
		"coupling[i][j]: GPU-seconds lost in incidents whose chain passes from domain i to domain j, with the median lag in seconds."}, t.getCoupling)
	add(s, tool{"get_bottlenecks", "Get what holds the work back",
		"Scores from 0 to 100, percent of the available GPU-seconds: redundant computation, low MFU, memory wall, communication overhead, density cap, thermal limit. Null where it cannot be observed."}, t.getBottlenecks)
}

type windowIn struct {
	Window string `json:"window,omitempty" jsonschema:"how far back, such as 90m, 24h (the default) or 7d; at most 30d"`
}

type jobWindowIn struct {
	Window string `json:"window,omitempty" jsonschema:"how far back, such as 90m, 24h (the default) or 7d; at most 30d"`
	Job    string `json:"job,omitempty" jsonschema:"only this job, such as job:train"`
}

// cost asks one of the questions on costs.
func (t *tools) cost(ctx context.Context, what, window, job string, words func(map[string]any) string) (*result, error) {
	var got map[string]any
	if err := t.get(ctx, "/api/v1/"+what, parameters("window", window, "job", job), &got); err != nil {
		return nil, err
	}
	return &result{text: words(got), data: got, tick: t.tick(ctx), page: "/"}, nil
}

func (t *tools) getLosses(ctx context.Context, in jobWindowIn) (*result, error) {
	return t.cost(ctx, "losses", in.Window, in.Job, func(got map[string]any) string {
		s := fmt.Sprintf("%s GPU-seconds lost of %s that there were, from %v to %v.", number(got["gpu_seconds_lost"]), number(got["available_gpu_seconds"]), got["from"], got["to"])
		if causes, _ := got["causes"].([]any); len(causes) > 0 {
			if c, _ := causes[0].(map[string]any); c != nil {
				s += fmt.Sprintf(" Most by %v at %v: %s.", c["signature"], c["root"], number(c["gpu_seconds_lost"]))
			}
		}
		return s
	})
}

func (t *tools) getBudget(ctx context.Context, in jobWindowIn) (*result, error) {
	return t.cost(ctx, "budget", in.Window, in.Job, func(got map[string]any) string {
		fleet, _ := got["fleet"].(map[string]any)
		achieved, _ := fleet["achieved"].(map[string]any)
		return fmt.Sprintf("%s GPU-seconds in the window; share of the models' own arithmetic: %s.", number(fleet["gpu_seconds"]), number(achieved["share"]))
	})
}

func (t *tools) getCoupling(ctx context.Context, in windowIn) (*result, error) {
	return t.cost(ctx, "coupling", in.Window, "", func(got map[string]any) string {
		return fmt.Sprintf("%s GPU-seconds lost, from %v to %v. Row and column i are domains[i].", number(got["gpu_seconds_lost"]), got["from"], got["to"])
	})
}

func (t *tools) getBottlenecks(ctx context.Context, in windowIn) (*result, error) {
	return t.cost(ctx, "bottlenecks", in.Window, "", func(got map[string]any) string {
		b, _ := got["bottlenecks"].(map[string]any)
		s := "Of all jobs:"
		for _, k := range slices.Sorted(maps.Keys(b)) {
			s += " " + k + " " + number(b[k]) + ";"
		}
		return s[:len(s)-1] + "."
	})
}

// number is a number in words.
func number(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "unknown"
	}
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return fmt.Sprintf("%.4g", f)
}
