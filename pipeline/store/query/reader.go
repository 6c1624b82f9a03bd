package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// maxPoints is how many points of each series a range may have: a week by the
// minute, a year by the hour.
const maxPoints = 11_000

// reader answers questions about the samples and series of a database.
type reader struct {
	db     *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
}

// instant answers /query.
func (d reader) instant(r *http.Request) (result, error) {
	at, err := instantOf(r, "time", time.Now())
	if err != nil {
		return result{}, err
	}
	return d.evaluate(r, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return d.engine.NewInstantQuery(ctx, d.db, o, r.FormValue("query"), at)
	})
}

// interval answers /query_range.
func (d reader) interval(r *http.Request) (result, error) {
	start, err := instantOf(r, "start", time.Time{})
	if err != nil {
		return result{}, err
	}
	end, err := instantOf(r, "end", time.Time{})
	if err != nil {
		return result{}, err
	}
	if end.Before(start) {
		return result{}, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := durationOf(r, "step")
	switch {
	case err != nil:
		return result{}, err
	case step <= 0:
		return result{}, invalid("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case end.Sub(start)/step > maxPoints:
		return result{}, badData{errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	return d.evaluate(r, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return d.engine.NewRangeQuery(ctx, d.db, o, r.FormValue("query"), start, end, step)
	})
}

// evaluate runs a query within the request's timeout and limit.
func (d reader) evaluate(r *http.Request, parse func(context.Context, promql.QueryOpts) (promql.Query, error)) (result, error) {
	limit, err := limitOf(r)
	if err != nil {
		return result{}, err
	}
	ctx := r.Context()
	if r.FormValue("timeout") != "" {
		timeout, err := durationOf(r, "timeout")
		if err != nil {
			return result{}, err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var lookback time.Duration
	if r.FormValue("lookback_delta") != "" {
		if lookback, err = durationOf(r, "lookback_delta"); err != nil {
			return result{}, err
		}
	}
	q, err := parse(ctx, promql.NewPrometheusQueryOpts(r.FormValue("stats") == "all", lookback, nil))
	if err != nil {
		return result{}, invalid("query", err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return result{}, res.Err
	}
	value, warnings := truncated(res.Value, limit, res.Warnings)
	var seen any
	if r.FormValue("stats") != "" {
		seen = stats.NewQueryStats(q.Stats())
	}
	text, err := encode(value, seen)
	return result{encoded: text, warnings: warnings}, err
}

// truncated keeps the first limit series of a value.
func truncated(v parser.Value, limit int, w annotations.Annotations) (parser.Value, annotations.Annotations) {
	switch x := v.(type) {
	case promql.Vector:
		x, w = bounded(x, limit, w)
		return x, w
	case promql.Matrix:
		x, w = bounded(x, limit, w)
		return x, w
	}
	return v, w
}

// exemplars answers /query_exemplars: the history keeps none.
func (d reader) exemplars(r *http.Request) (result, error) {
	if _, err := d.parser.ParseExpr(r.FormValue("query")); err != nil {
		return result{}, invalid("query", err)
	}
	return result{data: []string{}}, nil
}

// format answers /format_query.
func (d reader) format(r *http.Request) (result, error) {
	e, err := d.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return result{}, invalid("query", err)
	}
	return result{data: e.Pretty(0)}, nil
}

// selection is which series a request is about.
type selection struct {
	start, end int64 // milliseconds
	limit      int   // 0 is all
	sets       [][]*labels.Matcher
}

// selected reads match[], start, end and limit.
func (d reader) selected(r *http.Request) (s selection, err error) {
	if s.limit, err = limitOf(r); err != nil {
		return s, err
	}
	start, err := instantOf(r, "start", minTime())
	if err != nil {
		return s, err
	}
	end, err := instantOf(r, "end", maxTime())
	if err != nil {
		return s, err
	}
	s.start, s.end = start.UnixMilli(), end.UnixMilli()
	s.sets, err = matchers(d.parser, r)
	return s, err
}

// matchers reads match[]. A selector that every series fulfils is refused: it
// would read the whole history.
func matchers(p parser.Parser, r *http.Request) ([][]*labels.Matcher, error) {
	sets, err := p.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return nil, invalid("match[]", err)
	}
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(m *labels.Matcher) bool { return m != nil && !m.Matches("") }) {
			return nil, invalid("match[]", errors.New("match[] must contain at least one non-empty matcher"))
		}
	}
	return sets, nil
}

// hint is how many results the database need look for: one more than are wanted
// shows that there are more.
func (s selection) hint() int {
	if s.limit == 0 {
		return 0
	}
	return s.limit + 1
}

// labelNames answers /labels.
func (d reader) labelNames(r *http.Request) (result, error) {
	return d.words(r, func(ctx context.Context, q storage.Querier, h *storage.LabelHints, m []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, h, m...)
	})
}

// labelValues answers /label/NAME/values.
func (d reader) labelValues(r *http.Request) (result, error) {
	name := model.UnescapeName(r.PathValue("name"), model.ValueEncodingEscaping)
	if !model.UTF8Validation.IsValidLabelName(name) {
		return result{}, badData{fmt.Errorf("invalid label name: %q", name)}
	}
	return d.words(r, func(ctx context.Context, q storage.Querier, h *storage.LabelHints, m []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, h, m...)
	})
}

// words collects, sorted, the results of ask for each selector, or for all series
// if there is none.
func (d reader) words(r *http.Request, ask func(context.Context, storage.Querier, *storage.LabelHints, []*labels.Matcher) ([]string, annotations.Annotations, error)) (result, error) {
	s, err := d.selected(r)
	if err != nil {
		return result{}, err
	}
	q, err := d.db.Querier(s.start, s.end)
	if err != nil {
		return result{}, err
	}
	defer q.Close()
	sets := s.sets
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	found, warnings := map[string]bool{}, annotations.Annotations{}
	for _, set := range sets {
		words, w, err := ask(r.Context(), q, &storage.LabelHints{Limit: s.hint()}, set)
		if err != nil {
			return result{}, err
		}
		warnings.Merge(w)
		for _, word := range words {
			found[word] = true
		}
	}
	all, warnings := bounded(slices.Sorted(maps.Keys(found)), s.limit, warnings)
	if all == nil {
		all = []string{}
	}
	return result{data: all, warnings: warnings}, nil
}

// series answers /series.
func (d reader) series(r *http.Request) (result, error) {
	if len(r.Form["match[]"]) == 0 {
		return result{}, badData{errors.New("no match[] parameter provided")}
	}
	s, err := d.selected(r)
	if err != nil {
		return result{}, err
	}
	q, err := d.db.Querier(s.start, s.end)
	if err != nil {
		return result{}, err
	}
	defer q.Close()
	hints := &storage.SelectHints{Start: s.start, End: s.end, Func: "series", Limit: s.hint()} // no function: samples are not wanted
	var sets []storage.SeriesSet
	for _, set := range s.sets {
		sets = append(sets, q.Select(r.Context(), len(s.sets) > 1, hints, set...)) // merging requires order
	}
	found := sets[0]
	if len(sets) > 1 {
		found = storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	}
	all := []labels.Labels{}
	for found.Next() && (s.limit == 0 || len(all) <= s.limit) {
		if err := r.Context().Err(); err != nil {
			return result{}, err
		}
		all = append(all, found.At().Labels())
	}
	if err := found.Err(); err != nil {
		return result{}, err
	}
	all, warnings := bounded(all, s.limit, found.Warnings())
	return result{data: all, warnings: warnings}, nil
}
