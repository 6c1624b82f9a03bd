package receive

import (
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/collectors/weigh"
	"github.com/quintet-dc/quintet/telemetry"
)

// The forms of an OTLP request.
const (
	otlpProto = "application/x-protobuf"
	otlpJSON  = "application/json"
)

// Metrics takes POST /v1/metrics: OTLP over HTTP, in protobuf or JSON, packed
// with gzip or not (the OpenTelemetry protocol specification).
func (r *Receiver) Metrics(w http.ResponseWriter, req *http.Request) {
	form := otlpProto
	got, ok := r.takeSeries(w, req, r.otlp, func(body []byte, h http.Header) (batch, error) {
		var err error
		if form, err = otlpForm(h); err != nil {
			return nil, err
		}
		switch e := h.Get("Content-Encoding"); e {
		case "", "identity":
		case "gzip":
			if body, err = gunzip(body, unpacked*r.cfg.MaxBody); err != nil {
				return nil, err
			}
		default:
			return nil, unsupportedf("Content-Encoding %.40s: want gzip, or none", e)
		}
		m, err := readOTLP(body, form)
		return &otlp{m.Metrics(), r.cfg.Mapper}, err
	})
	if !ok {
		return
	}
	a := pmetricotlp.NewExportResponse()
	if n, why := rejected(got.dropped); n > 0 {
		a.PartialSuccess().SetRejectedDataPoints(n)
		a.PartialSuccess().SetErrorMessage(why)
	}
	text, err := a.MarshalProto()
	if form == otlpJSON {
		text, err = a.MarshalJSON()
	}
	if err != nil {
		answerFault(w, &fault{status: http.StatusInternalServerError, err: err})
		return
	}
	w.Header().Set("Content-Type", form)
	_, _ = w.Write(text) // who asked may be gone
}

// readOTLP decodes a request, once it is known what that takes.
func readOTLP(body []byte, form string) (m pmetricotlp.ExportRequest, err error) {
	m = pmetricotlp.NewExportRequest()
	if form == otlpJSON {
		if err := weigh.JSON(body); err != nil {
			return m, weighed(err)
		}
		return m, m.UnmarshalJSON(body)
	}
	if err := weigh.Proto(body, otlpMessage()); err != nil {
		return m, weighed(err)
	}
	return m, m.UnmarshalProto(body)
}

func otlpForm(h http.Header) (string, error) {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != otlpProto && media != otlpJSON {
		return otlpProto, unsupportedf("Content-Type %.80q: want %s or %s", h.Get("Content-Type"), otlpProto, otlpJSON)
	}
	return media, nil
}

// rejected returns how many points were not accepted, and why.
func rejected(dropped map[collectors.Reason]int) (int64, string) {
	n := 0
	var why []string
	for _, r := range slices.Sorted(maps.Keys(dropped)) {
		if dropped[r] > 0 {
			n += dropped[r]
			why = append(why, fmt.Sprintf("%d %s", dropped[r], r))
		}
	}
	return int64(n), strings.Join(why, ", ")
}

// otlp is a request of OTLP's.
type otlp struct {
	metrics pmetric.Metrics
	mapper  *mapping.Mapper
}

// taking is one request's way into the intake.
type taking struct {
	in      *mapping.Intake
	mapper  *mapping.Mapper
	dropped map[collectors.Reason]int
	key     key
	about   []mapping.Label // of the resource
}

func (b *otlp) take(in *mapping.Intake, dropped map[collectors.Reason]int) int {
	t := &taking{in: in, mapper: b.mapper, dropped: dropped}
	for _, resource := range b.metrics.ResourceMetrics().All() {
		t.about = attributes(nil, resource.Resource().Attributes())
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				t.metric(m)
			}
		}
	}
	return b.metrics.DataPointCount()
}

// metric takes the points of one metric. Counts from one report to the next only
// (delta) are of no use to a receiver that missed one, and are refused.
func (t *taking) metric(m pmetric.Metric) {
	name := promName(m.Name())
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		t.numbers(name, m.Gauge().DataPoints(), false)
	case pmetric.MetricTypeSum:
		counter := m.Sum().IsMonotonic()
		if counter && m.Sum().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.dropped[collectors.Unsupported] += m.Sum().DataPoints().Len()
			return
		}
		if counter && !strings.HasSuffix(name, "_total") && !t.mapper.Names(name) {
			name += "_total"
		}
		t.numbers(name, m.Sum().DataPoints(), counter)
	case pmetric.MetricTypeHistogram:
		if m.Histogram().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.dropped[collectors.Unsupported] += m.Histogram().DataPoints().Len()
			return
		}
		for _, p := range m.Histogram().DataPoints().All() {
			t.histogram(name, p)
		}
	case pmetric.MetricTypeExponentialHistogram:
		t.dropped[collectors.Unsupported] += m.ExponentialHistogram().DataPoints().Len()
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			t.one(name+"_count", p.Attributes(), p.Timestamp(), mapping.FloatNumber(float64(p.Count())))
			t.one(name+"_sum", p.Attributes(), p.Timestamp(), mapping.FloatNumber(p.Sum()))
		}
	default:
		t.dropped[collectors.Malformed]++
	}
}

func (t *taking) numbers(name string, points pmetric.NumberDataPointSlice, counter bool) {
	for _, p := range points.All() {
		n := mapping.FloatNumber(p.DoubleValue())
		if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
			n = mapping.IntNumber(p.IntValue())
		}
		if p.Flags().NoRecordedValue() {
			n = mapping.FloatNumber(math.NaN())
		}
		t.begin(name, p.Attributes())
		t.key.counter = counter
		t.end(p.Timestamp(), n)
	}
}

// histogram takes a histogram as the series that a page would have.
func (t *taking) histogram(name string, p pmetric.HistogramDataPoint) {
	counts, bounds := p.BucketCounts(), p.ExplicitBounds()
	sum := uint64(0)
	for i := range counts.Len() {
		sum += counts.At(i)
		le := "+Inf"
		if i < bounds.Len() {
			le = strconv.FormatFloat(bounds.At(i), 'g', -1, 64)
		}
		t.begin(name+"_bucket", p.Attributes())
		t.key.add("le", le)
		t.end(p.Timestamp(), mapping.FloatNumber(float64(sum)))
	}
	t.one(name+"_count", p.Attributes(), p.Timestamp(), mapping.FloatNumber(float64(p.Count())))
	if p.HasSum() {
		t.one(name+"_sum", p.Attributes(), p.Timestamp(), mapping.FloatNumber(p.Sum()))
	}
}

func (t *taking) one(name string, a pcommon.Map, at pcommon.Timestamp, n mapping.Number) {
	t.begin(name, a)
	t.end(at, n)
}

func (t *taking) begin(name string, a pcommon.Map) {
	t.key.reset()
	t.key.add(nameLabel, name)
	for _, l := range attributes(t.about, a) {
		t.key.add(l.Name, l.Value)
	}
}

func (t *taking) end(at pcommon.Timestamp, n mapping.Number) {
	when := telemetry.Time(0)
	if at <= math.MaxInt64 {
		when = telemetry.Time(at)
	}
	t.in.Take(t.key.understand(t.in, n), when, n)
}

// attributes returns attributes as labels, in order of their names; those of the
// point come before those of the resource.
func attributes(about []mapping.Label, m pcommon.Map) []mapping.Label {
	out := slices.Clone(about)
	for name, v := range m.All() {
		l := mapping.Label{Name: promName(name), Value: v.AsString()}
		if i := slices.IndexFunc(out, func(x mapping.Label) bool { return x.Name == l.Name }); i >= 0 {
			out[i] = l
			continue
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b mapping.Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// promName returns a name as Prometheus has it: dots and whatever else no name
// may have become '_'.
func promName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' && i > 0 || c == '_' || c == ':' {
			continue
		}
		b[i] = '_'
	}
	return string(b)
}
