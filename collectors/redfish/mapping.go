package redfish

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

//go:embed mapping.yaml
var standard []byte

// Document is the form of a mapping file of Redfish's resources.
type Document struct {
	mapping.Header `yaml:",inline"`
	Blanks         [][]mapping.Number `yaml:"blank,single" was:"sentinels"`
	Logs           []pattern          `yaml:"logs"` // that are read
	Events         []notice           `yaml:"events"`
	Rules          []rule             `yaml:"rules" max:"1000"`
}

// pace is how often a resource is asked for.
type pace uint8

const (
	still pace = iota // with the walk: nothing in it moves
	slow              // inventory, collections, counters
	fast              // power, temperatures, flows
)

// Set reads the name of a pace.
func (p *pace) Set(text string) error {
	switch text {
	case "fast":
		*p = fast
	case "slow":
		*p = slow
	default:
		return fmt.Errorf("want fast or slow, found %.40q", text)
	}
	return nil
}

// reach is how a rule's resources may be got.
type reach string

const (
	byExpand reach = "expand" // only where one request gets all of a collection
	byReport reach = "report" // only out of metric reports
)

// rule defines what the resources of one place mean.
type rule struct {
	Paths    []pattern              `yaml:"from,single" was:"path"`
	Kinds    []telemetry.Kind       `yaml:"for,single"`     // what the service must be; empty: anything
	Chassis  []string               `yaml:"chassis,single"` // types that the chassis around it may have; empty: any
	Each     place                  `yaml:"each"`           // a list inside the resource: the rule is for each item
	Where    mapping.Where          `yaml:"where,single" was:"when"`
	Of       mapping.EntityTemplate `yaml:"of" was:"entity" default:"self"`
	Named    bool                   `yaml:"named"` // only where the configuration names the entity
	Pace     pace                   `yaml:"pace" was:"every" default:"slow"`
	Reach    reach                  `yaml:"by" oneof:"page expand report"`
	Readings []readingRule          `yaml:"readings"`
	Traits   []string               `yaml:"traits,single"` // properties that are configuration
	Edges    []edgeRule             `yaml:"edges"`

	path pattern // the one of Paths that it is for
}

// Validate reports a rule without a reading.
func (r rule) Validate() error {
	for _, k := range r.Kinds {
		if (telemetry.Entity{Kind: k, Name: "x"}).Validate() != nil {
			return settings.Errorf("for", "unknown kind %q", k)
		}
	}
	switch {
	case len(r.Paths) == 0:
		return errors.New("from: required")
	case len(r.Readings)+len(r.Traits)+len(r.Edges) == 0:
		return errors.New("a rule without readings, traits or edges")
	}
	return nil
}

// place is where a property is in a document: Status.State.
type place []string

// Set reads a place.
func (p *place) Set(text string) error {
	*p = strings.Split(text, ".")
	return nil
}

// readingRule defines what a property means.
type readingRule struct {
	Place           place `yaml:"from" was:"property"`
	mapping.Reading `yaml:",inline"`
	UnitFrom        place `yaml:"unit_from"` // the property that states the unit

	quantity *mapping.Quantity
}

// Validate reports what is missing or invalid.
func (r readingRule) Validate() error {
	q, err := r.Quantity(nil)
	switch {
	case r.Metric == "" || r.Place == nil:
		return errors.New("a reading needs from and metric")
	case err == nil && r.UnitFrom == nil && r.Words == nil && r.Unit == "" && q.Dimension != "":
		return fmt.Errorf("%s: neither unit nor unit_from", r.Metric)
	}
	return err
}

type edgeRule struct {
	Relation string                 `yaml:"relation"`
	From     mapping.EntityTemplate `yaml:"from"`
	To       mapping.EntityTemplate `yaml:"to"`
}

// Validate reports an edge of nothing, or of no relation.
func (e edgeRule) Validate() error {
	if e.From.Word+string(e.From.Kind) == "" || e.To.Word+string(e.To.Kind) == "" {
		return errors.New("an edge needs relation, from and to")
	}
	_, err := telemetry.ParseRelation(e.Relation)
	return err
}

// notice defines the name of a log entry or an event.
type notice struct {
	Text   mapping.Expression  `yaml:"text"` // of message and arguments; nil any
	Event  telemetry.EventName `yaml:"event" max:"64"`
	Format string              `yaml:"format"` // with the expression's groups; "" the message
}

// Validate reports what is missing.
func (n notice) Validate() error {
	switch {
	case n.Event == "":
		return errors.New("event: required")
	case n.Format != "" && n.Text.Regexp == nil:
		return errors.New("format: nothing without text")
	}
	return nil
}

// library is all rules, a user's own first.
type library struct {
	mapping.Formers
	rules   []rule // of one path each
	notices []notice
	logs    []pattern
}

// loadMapping reads the mapping that comes with the program, and before it those of
// files.
func loadMapping(files []string) (*library, error) {
	all, former, err := mapping.Load[Document](files, standard)
	if err != nil {
		return nil, fmt.Errorf("redfish: mapping: %w", err)
	}
	l, err := join(all)
	if err != nil {
		return nil, fmt.Errorf("redfish: mapping: %w", err)
	}
	l.Formers = former
	return l, nil
}

// join joins documents, and makes of a rule one for each of its paths.
func join(all []Document) (*library, error) {
	l := &library{}
	var ranges [][]mapping.Number
	for i := range all {
		ranges = append(ranges, all[i].Blanks...)
		l.logs, l.notices = append(l.logs, all[i].Logs...), append(l.notices, all[i].Events...)
	}
	blanks, err := mapping.Blanks(ranges)
	if err != nil {
		return nil, err
	}
	for i := range all {
		for _, r := range all[i].Rules {
			for k := range r.Readings {
				if r.Readings[k].quantity, err = r.Readings[k].Quantity(blanks); err != nil {
					return nil, err
				}
			}
			for _, p := range r.Paths {
				r.path = p
				l.rules = append(l.rules, r)
			}
		}
	}
	return l, nil
}

// period returns how often a pace asks.
func (p pace) period(c *Config) time.Duration {
	switch p {
	case fast:
		return c.Every
	case slow:
		return c.Slow
	}
	return c.Walk
}
