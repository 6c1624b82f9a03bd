package promunit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
)

// Result is how a file of tests went.
type Result struct {
	Tests int
	Wrong []string // a line or more for each expectation that did not come
}

// Run runs the tests of a file. The error is of what could not be run at all.
func Run(ctx context.Context, path string) (Result, error) {
	f, err := read(path)
	if err != nil {
		return Result{}, err
	}
	out := Result{Tests: len(f.Tests)}
	for i := range f.Tests {
		wrong, err := f.run(ctx, &f.Tests[i])
		if err != nil {
			return out, fmt.Errorf("%s: %s: %w", path, f.Tests[i].called(i), err)
		}
		for _, w := range wrong {
			out.Wrong = append(out.Wrong, fmt.Sprintf("%s: %s: %s", path, f.Tests[i].called(i), w))
		}
	}
	return out, nil
}

// bench is what the rules of a test run on.
type bench struct {
	file   *file
	test   *test
	parser parser.Parser
	db     *tsdb.DB
	engine *promql.Engine
	groups []*rules.Group
	start  time.Time
	supply []supply
}

// supply is what is still to be appended of a series.
type supply struct {
	labels labels.Labels
	values []parser.SequenceValue
	next   int
}

// run runs one test in a database of its own.
func (f *file) run(ctx context.Context, t *test) (wrong []string, err error) {
	dir, err := os.MkdirTemp("", "quintet-rules-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := tsdb.DefaultOptions()
	options.WALSegmentSize, options.StripeSize = -1, 64 // nothing outlives the test, and there is little of it
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.DisableCompactions()
	b := &bench{file: f, test: t, db: db, start: t.Start.Time, parser: parser.NewParser(parser.Options{})}
	if b.start.IsZero() {
		b.start = time.Unix(0, 0).UTC()
	}
	b.engine = promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 10_000_000, Timeout: time.Minute, Parser: b.parser,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return time.Duration(f.Interval).Milliseconds() }})
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	return b.play(ctx)
}

// load reads the input's series and the rules.
func (b *bench) load(ctx context.Context) error {
	for _, in := range b.test.Input {
		l, values, err := b.parser.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return fmt.Errorf("series %s: %w", in.Series, err)
		}
		b.supply = append(b.supply, supply{labels: l, values: values})
	}
	manager := rules.NewManager(&rules.ManagerOptions{Context: ctx, AppendableV2: b.db, Queryable: b.db, Parser: b.parser, Logger: slog.New(slog.DiscardHandler),
		QueryFunc: rules.EngineQueryFunc(b.engine, b.db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {}})
	groups, errs := manager.LoadGroups(time.Duration(b.test.Interval), labels.FromMap(b.test.ExternalLabels), b.test.ExternalURL, nil, false, b.file.RuleFiles...)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, g := range groups {
		for _, r := range g.Rules() {
			if a, ok := r.(*rules.AlertingRule); ok {
				a.SetRestored(true) // else it writes no ALERTS
			}
		}
		b.groups = append(b.groups, g)
	}
	slices.SortFunc(b.groups, b.before)
	return nil
}

// before orders groups: those that the file orders as it does, the rest ahead
// of them, by file and name.
func (b *bench) before(x, y *rules.Group) int {
	order := func(g *rules.Group) int { return slices.Index(b.file.GroupEvalOrder, g.Name()) }
	if d := order(x) - order(y); d != 0 {
		return d
	}
	place := func(g *rules.Group) int { return slices.Index(b.file.RuleFiles, g.File()) }
	if d := place(x) - place(y); d != 0 {
		return d
	}
	return slices.Compare([]string{x.Name()}, []string{y.Name()})
}

// play moves time from evaluation to evaluation and compares.
func (b *bench) play(ctx context.Context) (wrong []string, err error) {
	step := time.Duration(b.file.Interval)
	for at := time.Duration(0); at <= b.test.last(); at += step {
		if err := b.feed(ctx, at); err != nil {
			return nil, err
		}
		for _, g := range b.groups {
			g.Eval(ctx, b.start.Add(at))
			for _, r := range g.Rules() {
				if r.LastError() != nil {
					return nil, fmt.Errorf("rule %s at %s: %w", r.Name(), at, r.LastError())
				}
			}
		}
		for i := range b.test.Alerts {
			if a := &b.test.Alerts[i]; at <= time.Duration(a.At) && time.Duration(a.At) < at+step {
				wrong = append(wrong, b.alerts(a)...)
			}
		}
	}
	for i := range b.test.Exprs {
		wrong = append(wrong, b.expr(ctx, &b.test.Exprs[i])...)
	}
	return wrong, ctx.Err()
}

// feed appends what the input states up to a time.
func (b *bench) feed(ctx context.Context, until time.Duration) error {
	app := b.db.Appender(ctx)
	step := time.Duration(b.test.Interval)
	for i := range b.supply {
		s := &b.supply[i]
		for ; s.next < len(s.values) && time.Duration(s.next)*step <= until; s.next++ {
			v := s.values[s.next]
			if v.Omitted {
				continue
			}
			at := b.start.Add(time.Duration(s.next) * step).UnixMilli()
			var err error
			if v.Histogram != nil {
				_, err = app.AppendHistogram(0, s.labels, at, nil, v.Histogram)
			} else {
				_, err = app.Append(0, s.labels, at, v.Value)
			}
			if err != nil {
				return errors.Join(fmt.Errorf("series %s: %w", s.labels, err), app.Rollback())
			}
		}
	}
	return app.Commit()
}
