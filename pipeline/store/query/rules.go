package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"

	ours "github.com/quintet-dc/quintet/rules/prometheus"
)

const (
	evaluateEvery = 15 * time.Second // groups that state no interval
	// What Prometheus takes for right: how long an outage may be for an alert to go
	// on waiting where it was, how long it waits at least after that, and how
	// often a firing one is handed on again.
	outage = time.Hour
	grace  = 10 * time.Minute
	resend = time.Minute
	// embedded is before the name of a file that is part of the program.
	embedded = "quintet:"
)

// Alert is an alert that fires, or has ceased to.
type Alert struct {
	Labels      map[string]string
	Annotations map[string]string
	Expr        string
	Value       float64
	StartsAt    time.Time
	// EndsAt is when it ceased; of one that fires, until when it holds unless it is
	// repeated.
	EndsAt   time.Time
	Resolved bool
}

// loader finds rules: our own, which are part of the program, and files.
type loader struct {
	parser parser.Parser
	cfg    Config
}

// Load implements rules.GroupLoader.
func (l loader) Load(name string, lenient bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	own, ok := strings.CutPrefix(name, embedded)
	var text []byte
	var err error
	if ok {
		text, err = fs.ReadFile(ours.Files(), own)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, []error{err}
	}
	groups, errs := rulefmt.Parse(text, lenient, scheme, l.parser, l.cfg.Logger)
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, err)
	}
	return groups, errs
}

// Parse implements rules.GroupLoader.
func (l loader) Parse(expr string) (parser.Expr, error) { return l.parser.ParseExpr(expr) }

// names lists the loaded rules: the built-in ones and the files of the
// configuration.
func (l loader) names() (out []string) {
	for _, n := range ours.Names() {
		out = append(out, embedded+n)
	}
	return append(out, l.cfg.Rules...)
}

// usable loads every file once; an invalid one is left out and named, so that it
// does not disable the others.
func (l loader) usable() (names []string, err error) {
	for _, n := range l.names() {
		_, errs := l.Load(n, false, model.UTF8Validation)
		if len(errs) > 0 {
			err = errors.Join(err, errors.Join(errs...))
			continue
		}
		names = append(names, n)
	}
	return names, err
}

// ruling evaluates rules.
type ruling struct {
	manager *rules.Manager
	names   []string
}

// newRuling makes a manager; it has no rules before it is run.
func (a *API) newRuling(ctx context.Context, p parser.Parser) *ruling {
	l := loader{p, a.cfg}
	names, err := l.usable()
	if err != nil {
		a.cfg.Logger.Error("rules are left out", "error", err)
	}
	external := &url.URL{}
	if u, err := url.Parse(a.cfg.URL); err == nil {
		external = u
	}
	m := rules.NewManager(&rules.ManagerOptions{NameValidationScheme: model.UTF8Validation, AppendableV2: a.cfg.DB, Queryable: a.cfg.DB,
		QueryFunc: rules.EngineQueryFunc(a.engine, a.cfg.DB), NotifyFunc: a.alerted, Context: ctx, ExternalURL: external, Registerer: a.cfg.Registry,
		Logger: a.cfg.Logger, OutageTolerance: outage, ForGracePeriod: grace, ResendDelay: resend, GroupLoader: l, Parser: p,
		DefaultRuleQueryOffset: func() time.Duration { return 0 }})
	return &ruling{m, names}
}

// run evaluates until ctx is done.
func (r *ruling) run(ctx context.Context, url string) error {
	if err := r.manager.Update(evaluateEvery, r.names, labels.EmptyLabels(), url, nil); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.manager.Run()
	}()
	<-ctx.Done()
	r.manager.Stop()
	<-ended
	return nil
}

// alerted passes alerts on, also an empty list: that shows that rules are
// evaluated.
func (a *API) alerted(ctx context.Context, expr string, alerts ...*rules.Alert) {
	if a.cfg.Alerts == nil {
		return
	}
	out := make([]Alert, 0, len(alerts))
	for _, x := range alerts {
		o := Alert{Labels: x.Labels.Map(), Annotations: x.Annotations.Map(), Expr: expr, Value: x.Value, StartsAt: x.FiredAt, EndsAt: x.ValidUntil}
		if !x.ResolvedAt.IsZero() {
			o.EndsAt, o.Resolved = x.ResolvedAt, true
		}
		out = append(out, o)
	}
	a.cfg.Alerts(ctx, out)
}
