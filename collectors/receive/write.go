package receive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/collectors/weigh"
	"github.com/quintet-dc/quintet/telemetry"
)

// The messages of remote write 1.0 and 2.0.
const (
	firstMessage  = "prometheus.WriteRequest"
	secondMessage = "io.prometheus.write.v2.Request"
)

// staleNaN are the bits by which Prometheus marks the end of a series.
const staleNaN = 0x7ff0000000000002

// Write takes POST /api/v1/write: remote write 1.0 and 2.0 (Prometheus' remote
// write specifications).
func (r *Receiver) Write(w http.ResponseWriter, req *http.Request) {
	second := false
	got, ok := r.takeSeries(w, req, r.write, func(body []byte, h http.Header) (batch, error) {
		message, err := messageOf(h)
		if err != nil {
			return nil, err
		}
		if body, err = unsnap(body, unpacked*r.cfg.MaxBody); err != nil {
			return nil, err
		}
		if second = message == secondMessage; second {
			return readSecond(body)
		}
		return readFirst(body)
	})
	if !ok {
		return
	}
	if second {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(got.samples))
		w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", "0")
		w.Header().Set("X-Prometheus-Remote-Write-Exemplars-Written", "0")
	}
	w.WriteHeader(http.StatusNoContent)
}

// messageOf returns which of the two messages a request has.
func messageOf(h http.Header) (string, error) {
	if e := h.Get("Content-Encoding"); e != "" && e != "snappy" {
		return "", unsupportedf("Content-Encoding %.40s: want snappy", e)
	}
	kind := h.Get("Content-Type")
	if kind == "" {
		return firstMessage, nil
	}
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "application/x-protobuf" {
		return "", unsupportedf("Content-Type %.80q: want application/x-protobuf", kind)
	}
	switch m := params["proto"]; m {
	case "", firstMessage:
		return firstMessage, nil
	case secondMessage:
		return m, nil
	default:
		return "", unsupportedf("Content-Type: proto %.80q: want %s or %s", m, firstMessage, secondMessage)
	}
}

// unsnap unpacks a block of snappy, to a bound.
func unsnap(body []byte, most int64) ([]byte, error) {
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	if int64(n) > most {
		return nil, tooLong(most)
	}
	return snappy.Decode(nil, body)
}

// first is a request of remote write 1.0.
type first struct{ series []prompb.TimeSeries }

// errNoName means that a series has no name.
var errNoName = errors.New("no label __name__")

func readFirst(body []byte) (batch, error) {
	if err := weigh.Proto(body, firstForm()); err != nil {
		return nil, weighed(err)
	}
	var m prompb.WriteRequest
	if err := m.Unmarshal(body); err != nil {
		return nil, err
	}
	for i, s := range m.Timeseries {
		if !slices.ContainsFunc(s.Labels, func(l prompb.Label) bool { return l.Name == nameLabel && l.Value != "" }) {
			return nil, &fault{field: fmt.Sprintf("timeseries[%d].labels", i), err: errNoName}
		}
	}
	return &first{m.Timeseries}, nil
}

// nameLabel is the label that holds a series' name.
const nameLabel = "__name__"

func (f *first) take(in *mapping.Intake, dropped map[collectors.Reason]int) int {
	var k key
	n := 0
	for _, s := range f.series {
		k.reset()
		for _, l := range s.Labels {
			k.add(l.Name, l.Value)
		}
		for _, p := range s.Samples {
			k.take(in, telemetry.Time(p.Timestamp)*1e6, p.Value, dropped)
		}
		n += len(s.Samples) + len(s.Histograms)
		if len(s.Histograms) > 0 {
			dropped[collectors.Unsupported] += len(s.Histograms)
		}
	}
	return n
}

// second is a request of remote write 2.0.
type second struct{ m *writev2.Request }

// readSecond reads the message and finds every reference in its table.
func readSecond(body []byte) (batch, error) {
	if err := weigh.Proto(body, secondForm()); err != nil {
		return nil, weighed(err)
	}
	var m writev2.Request
	if err := m.Unmarshal(body); err != nil {
		return nil, err
	}
	if len(m.Symbols) > 0 && m.Symbols[0] != "" {
		return nil, faultf("symbols[0]", "want the empty text")
	}
	for i, s := range m.Timeseries {
		where := fmt.Sprintf("timeseries[%d].labels_refs", i)
		if len(s.LabelsRefs)%2 != 0 {
			return nil, faultf(where, "want pairs, found %d", len(s.LabelsRefs))
		}
		named := false
		for j, ref := range s.LabelsRefs {
			if int64(ref) >= int64(len(m.Symbols)) {
				return nil, faultf(where, "%d, of %d symbols", ref, len(m.Symbols))
			}
			named = named || j%2 == 1 && m.Symbols[s.LabelsRefs[j-1]] == nameLabel && m.Symbols[ref] != ""
		}
		if !named {
			return nil, &fault{field: where, err: errNoName}
		}
	}
	return &second{&m}, nil
}

func (b *second) take(in *mapping.Intake, dropped map[collectors.Reason]int) int {
	var k key
	n := 0
	for _, s := range b.m.Timeseries {
		k.reset()
		k.counter = s.Metadata.Type == writev2.Metadata_METRIC_TYPE_COUNTER
		for i := 0; i+1 < len(s.LabelsRefs); i += 2 {
			k.add(b.m.Symbols[s.LabelsRefs[i]], b.m.Symbols[s.LabelsRefs[i+1]])
		}
		for _, p := range s.Samples {
			k.take(in, telemetry.Time(p.Timestamp)*1e6, p.Value, dropped)
		}
		n += len(s.Samples) + len(s.Histograms)
		if len(s.Histograms) > 0 {
			dropped[collectors.Unsupported] += len(s.Histograms)
		}
	}
	return n
}

// key is a series as its labels come, and what it was understood as.
type key struct {
	text    []byte
	name    string
	labels  []mapping.Label
	counter bool
	entry   *mapping.Entry
}

func (k *key) reset() {
	k.text, k.name, k.labels, k.counter, k.entry = k.text[:0], "", k.labels[:0], false, nil
}

// add records a label.
func (k *key) add(name, value string) {
	for _, s := range [2]string{name, value} {
		k.text = append(binary.AppendUvarint(k.text, uint64(len(s))), s...)
	}
	if name == nameLabel {
		k.name = value
		return
	}
	k.labels = append(k.labels, mapping.Label{Name: name, Value: value})
}

// understand finds out what the series is, once.
func (k *key) understand(in *mapping.Intake, firstOf mapping.Number) *mapping.Entry {
	if k.entry == nil {
		k.entry = in.Known(k.text)
	}
	if k.entry == nil {
		k.entry = in.Understand(string(k.text), mapping.Series{Name: strings.Clone(k.name), Labels: slices.Clone(k.labels), Counter: k.counter, First: firstOf})
	}
	return k.entry
}

// take records one sample.
func (k *key) take(in *mapping.Intake, at telemetry.Time, v float64, dropped map[collectors.Reason]int) {
	if math.Float64bits(v) == staleNaN {
		dropped[collectors.Vanished]++
		return
	}
	n := mapping.FloatNumber(v)
	in.Take(k.understand(in, n), at, n)
}
