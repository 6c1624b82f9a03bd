package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Catalogue states what metrics mean. It does not change once made.
type Catalogue struct {
	metrics []Metric // by name
	index   map[MetricName]int
}

// NewCatalogue checks declarations and returns them as a catalogue. It takes
// the slice over.
func NewCatalogue(ms []Metric) (*Catalogue, error) {
	slices.SortFunc(ms, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	c := &Catalogue{metrics: ms, index: make(map[MetricName]int, len(ms))}
	for i := range ms {
		if err := ms[i].Validate(); err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		if _, twice := c.index[ms[i].Name]; twice {
			return nil, fmt.Errorf("catalogue: metric %s: declared twice", ms[i].Name)
		}
		c.index[ms[i].Name] = i
	}
	return c, nil
}

// Lookup returns the declaration of a metric, and whether there is one. An
// undeclared metric is carried, stored and shown, never judged.
func (c *Catalogue) Lookup(name MetricName) (*Metric, bool) {
	i, ok := c.index[name]
	if !ok {
		return nil, false
	}
	return &c.metrics[i], true
}

// Metrics returns the declarations by name. They are the catalogue's own: read
// them only.
func (c *Catalogue) Metrics() []Metric { return c.metrics }

// DefaultCatalogue returns what this program declares: the metrics listed in
// docs/collectors.md and the host counters of InfiniBand and RoCE drivers.
func DefaultCatalogue() *Catalogue {
	metrics := slices.Concat(
		wireMetrics(), pauseMetrics(), queueMetrics(), linkMetrics(), managementMetrics(),
		congestionMetrics(), transportMetrics(), completionMetrics(), requestMetrics(), pcieMetrics(),
		priorityMetrics(), moduleMetrics(),
		broadcomMetrics(), broadcomErrorMetrics(), intelMetrics(), hisiliconMetrics(), elasticMetrics(), azureMetrics(), pensandoMetrics(),
		gpuMetrics(), gpuThrottleMetrics(), nvlinkMetrics(), nvlinkTraffic(),
		powerMetrics(), coolingMetrics(), storageMetrics(), jobMetrics(), rankMetrics(), servingMetrics(), collectorMetrics(),
		carriedMetrics(), carriedPlantMetrics(), carriedManagerMetrics(), carriedJobMetrics(),
	)
	read := evidence()
	for i := range metrics {
		metrics[i].Evidence = metrics[i].Evidence || slices.Contains(read, metrics[i].Name)
	}
	c, err := NewCatalogue(metrics)
	if err != nil {
		panic(err) // the tables above are constant: TestDefaultCatalogue would have failed
	}
	return c
}

// Validate reports what is wrong with a declaration.
func (m *Metric) Validate() error {
	if err := (Column{Metric: m.Name, Type: Uint}).Validate(); err != nil {
		return err
	}
	switch {
	case m.Domain < Software || m.Domain > Cooling:
		return fmt.Errorf("metric %s: no domain", m.Name)
	case m.Type < Counter || m.Type > StateOf:
		return fmt.Errorf("metric %s: neither counter nor gauge nor state", m.Name)
	case (m.Type == Counter) != strings.HasSuffix(string(m.Name), "_total"):
		return fmt.Errorf("metric %s: a counter's name ends in _total, and no other's", m.Name)
	case m.Unit == "":
		return fmt.Errorf("metric %s: no unit", m.Name)
	case len(m.Kinds) == 0:
		return fmt.Errorf("metric %s: no entity kinds", m.Name)
	case m.Overflow > Sticks || m.Rise > Better:
		return fmt.Errorf("metric %s: unknown overflow %d or rise %d", m.Name, m.Overflow, m.Rise)
	}
	if err := m.validateWidth(); err != nil {
		return err
	}
	return m.validateLists()
}

func (m *Metric) validateWidth() error {
	switch m.Width {
	case 0:
		if m.Type == Counter || m.Overflow != Wraps {
			return fmt.Errorf("metric %s: no width", m.Name)
		}
	case 4, 8, 16, 32, 64:
		if m.Type != Counter {
			return fmt.Errorf("metric %s: width %d, but it is no counter", m.Name, m.Width)
		}
	default:
		return fmt.Errorf("metric %s: width %d, want 4, 8, 16, 32 or 64", m.Name, m.Width)
	}
	return nil
}

func (m *Metric) validateLists() error {
	for _, k := range m.Kinds {
		if !knownKind(k) {
			return fmt.Errorf("metric %s: unknown entity kind %q", m.Name, k)
		}
	}
	for i, d := range m.Detectors {
		if d < ShapeShift || d > ShapeStuck || slices.Contains(m.Detectors[:i], d) {
			return fmt.Errorf("metric %s: detector %d is unknown or stated twice", m.Name, d)
		}
	}
	if m.PerStep && (m.Type != Gauge || len(m.Detectors) > 0) {
		return fmt.Errorf("metric %s: what is stated at a step's end is a gauge and is not gridded", m.Name)
	}
	return nil
}

// like fills in what the metrics of one table share. A name that ends in
// _total makes a counter, of 64 bits if nothing else is stated; any other a
// gauge.
func like(d Metric, ms ...Metric) []Metric {
	for i := range ms {
		m := &ms[i]
		counter := strings.HasSuffix(string(m.Name), "_total")
		m.Domain = cmp.Or(m.Domain, d.Domain)
		m.Unit = cmp.Or(m.Unit, d.Unit)
		m.Rise = cmp.Or(m.Rise, d.Rise)
		m.Evidence = m.Evidence || d.Evidence
		m.PerStep = m.PerStep || d.PerStep
		m.Origin = d.Origin + m.Origin
		if m.Type == 0 {
			m.Type = Gauge
			if counter {
				m.Type = Counter
			}
		}
		if counter {
			m.Overflow = cmp.Or(m.Overflow, d.Overflow)
			m.Width = cmp.Or(m.Width, d.Width, 64)
		}
		if m.Kinds == nil {
			m.Kinds = d.Kinds
		}
		if m.Detectors == nil {
			m.Detectors = d.Detectors
		}
	}
	return ms
}

// shapes is short for a list of them; an empty one is not nil, so that a metric
// can be excepted from the detectors of its table.
func shapes(s ...Shape) []Shape { return append([]Shape{}, s...) }

// kinds is short for a list of them.
func kinds(k ...Kind) []Kind { return k }
