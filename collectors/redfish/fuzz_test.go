package redfish

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// FuzzPage: whatever a service answers, every reading is of a sound series and
// made of something that is there.
func FuzzPage(f *testing.F) {
	for _, s := range []string{
		`{"@odata.id": "/redfish/v1/Chassis/1", "ChassisType": "Sled", "Model": "M", "Location": {"Placement": {"Rack": "r 1"}}}`,
		`{"Members": [{"@odata.id": "/redfish/v1/Chassis/1/Sensors/a", "@odata.type": "#Sensor.v1_0_0.Sensor", "ReadingType": "Temperature", "PhysicalContext": "Intake", "Reading": 21.5, "ReadingUnits": "Cel"}], "Members@odata.nextLink": "/redfish/v1/x?$skip=1"}`,
		`{"Fans": [{"MemberId": "0", "Reading": 2000, "ReadingUnits": "RPM"}, null, 7], "Temperatures": [{"PhysicalContext": "Intake", "ReadingCelsius": 19}]}`,
		`{"PowerWatts": {"Reading": "12"}, "PowerLimitWatts": {"SetPoint": null}}`,
		`{"@odata.type": "#MetricReport.v1_4_2.MetricReport", "MetricValues": [{"MetricProperty": "/redfish/v1/Systems/H/Processors/GPU_0/ProcessorMetrics#/OperatingSpeedMHz", "MetricValue": "1980", "Timestamp": "2026-01-01T00:00:00Z"}]}`,
		`{"Status": {"State": "Absent"}, "SpeedPercent": {"Reading": 0}}`, `[]`, `{`, `null`, `{"a": 1} {"b": 2}`, "\xef\xbb\xbf{}",
	} {
		for _, path := range []string{"Chassis/1", "Chassis/1/Sensors", "Chassis/1/Thermal", "Chassis/1/EnvironmentMetrics", "TelemetryService/MetricReports/R", "Chassis/1/ThermalSubsystem/Fans/1"} {
			f.Add(root+"/"+path, []byte(s))
		}
	}
	m := standardMapping(f)
	f.Fuzz(func(t *testing.T, path string, b []byte) {
		doc, err := parse(b)
		if err != nil {
			return
		}
		for _, kind := range []telemetry.Kind{telemetry.Node, telemetry.Shelf, telemetry.CDU} {
			v := &view{rules: m, self: telemetry.Entity{Kind: kind, Name: "x"}, chassis: map[string]string{"1": "RackMount"}, expand: true}
			s := v.read(path, doc)
			for _, r := range s.readings {
				if err := r.entity.Validate(); err != nil {
					t.Error(err)
				}
				if x := r.column.Float(r.word); math.IsNaN(x) || math.IsInf(x, 0) || r.gap && r.word != 0 {
					t.Errorf("%s %s: %v, gap %v", r.entity, r.metric, x, r.gap)
				}
			}
			for _, l := range append(s.links, s.inline...) {
				if parts, ok := split(l); !ok || strings.Contains(l, "..") || len(parts) == 0 {
					t.Errorf("link %q", l)
				}
			}
			for _, e := range s.relations {
				if e.from.Validate() != nil || e.to.Validate() != nil || e.from == e.to {
					t.Errorf("edge %v", e)
				}
			}
			if s.report == nil {
				continue
			}
			for i := range s.report.rows {
				if bound := v.bind(s.report.rows[i].property); bound.known {
					if x, why := bound.take(&s.report.rows[i]); x.gap != (why != "") {
						t.Errorf("%+v: %q", x, why)
					}
				}
			}
		}
		for _, h := range readHappenings(doc) {
			if name, text, ok := m.name(&h); ok && (name == "" || len(text) > 3*maxText) {
				t.Errorf("%q %q", name, text)
			}
		}
	})
}

// FuzzStream: messages come out as they went in, however the bytes are cut.
func FuzzStream(f *testing.F) {
	f.Add([]byte("id: 1\ndata: {\"a\":\ndata: 1}\n\n: note\n\ndata: x\r\n\r\nid: 2\ndata:y\n\n"), 3)
	f.Add([]byte("data\ndata:\n\nevent: z\n\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		collect := func(r *bytes.Reader) (out []string) {
			if err := readStream(r, func(m message) bool { out = append(out, m.id+"|"+string(m.data)); return len(out) < 1000 }); err == nil && len(out) < 1000 {
				t.Error("a stream that ended, and no error")
			}
			return out
		}
		whole := collect(bytes.NewReader(b))
		if n <= 0 || n > 100 {
			n = 1
		}
		// What follows a whole stream does not change what was in it.
		again := collect(bytes.NewReader(append(append([]byte(nil), b...), []byte("\n\n"+strings.Repeat("data: z\n\n", n))...)))
		if len(again) < len(whole) {
			t.Errorf("%d messages, then %d", len(whole), len(again))
		}
		for i := range whole {
			if len(whole) < 1000 && whole[i] != again[i] {
				t.Errorf("message %d: %q, then %q", i, whole[i], again[i])
			}
		}
	})
}

// FuzzDuration: no text is read as a negative duration, and Go's form of a duration
// is not read as a longer one.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"PT0S", "P1DT2H3M4.5S", "P1W", "PT1H1H", "P", "PT", "PT9223372036S"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := mapping.ParseISODuration(s)
		if ok && d < 0 {
			t.Errorf("%q is %s", s, d)
		}
		if back, fine := mapping.ParseISODuration("PT" + strings.TrimSuffix(time.Duration(d).Truncate(time.Second).String(), "ms")); ok && d < time.Minute && d >= time.Second && fine && back > d {
			t.Errorf("%s, then %s", d, back)
		}
	})
}

// FuzzMapping: a user's file is taken or refused, with a line.
func FuzzMapping(f *testing.F) {
	head, rules, _ := strings.Cut(string(standard), "\nrules:\n")
	f.Add([]byte(head))
	for rule := range strings.SplitSeq(strings.TrimPrefix(rules, "  - "), "\n  - ") { // a document of all of them takes a millisecond
		f.Add([]byte("version: 1\nrules:\n  - " + rule))
	}
	f.Add([]byte("version: 1\nrules:\n  - path: [a/*, 'b/{x:digits}']\n    entity: 'gpu:{target}/{x}'\n    readings: [{property: A.B, unit: W, metric: a_watts}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Document
		if _, err := mapping.Decode(b, &d); err != nil {
			return
		}
		m, err := join([]Document{d})
		if err != nil {
			return
		}
		v := &view{rules: m, self: entityOf("node:n1"), chassis: map[string]string{}}
		doc, _ := parse([]byte(`{"A": {"B": 1}, "Status": {"State": "Enabled"}}`))
		for _, r := range v.read(root+"/Chassis/1", doc).readings {
			if r.entity.Validate() != nil {
				t.Errorf("%v", r.entity)
			}
		}
	})
}

// FuzzService: for any pages of a service, one after the other and once more, what
// is kept stays within its bounds and every record is sound.
func FuzzService(f *testing.F) {
	f.Add([]byte(`{"Chassis": {"@odata.id": "/redfish/v1/Chassis"}, "ProtocolFeaturesSupported": {"ExpandQuery": {"NoLinks": true, "Levels": true}}}`),
		[]byte(`{"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}, {"@odata.id": "/redfish/v1/Chassis/1"}], "Members@odata.nextLink": "/redfish/v1/Chassis?a"}`),
		[]byte(`{"Events": [{"Severity": "Critical", "Message": "XID 79", "OriginOfCondition": "/redfish/v1/Chassis/1"}]}`))
	f.Add([]byte(`{"MetricValues": [{"MetricProperty": "/redfish/v1/Chassis/1/Sensors/x", "MetricValue": "1"}]}`),
		[]byte(`{"@odata.id": "/redfish/v1/Chassis/1", "ChassisType": "Sled", "PowerSubsystem": {"@odata.id": "/redfish/v1/Chassis/1/Sensors"}, "FirmwareVersion": "1"}`),
		[]byte(`{"MetricValues": [{"MetricProperty": "/redfish/v1/Systems/a/Processors/GPU_0/ProcessorMetrics#/OperatingSpeedMHz", "MetricValue": "7"}]}`))
	f.Add([]byte("0"), []byte("{"), []byte("{}"))
	col, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		r := col.newReader(&ear{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}})
		for range 2 {
			for i, p := range sorted(r) {
				if i > 50 || r.pages[p.path] != p {
					continue
				}
				body := [][]byte{a, b, c}[i%3]
				doc, err := parse(body)
				if err != nil {
					r.handle(p, answer{reason: collectors.Malformed, err: err})
					continue
				}
				r.handle(p, answer{doc: doc})
				r.handle(p, answer{same: true})
			}
			r.receive(message{data: c})
			r.flush()
		}
		if len(r.pages) > maxPages || len(r.binds) > maxBindings || len(r.pushed) > maxStreamed {
			t.Errorf("%d pages, %d bindings, %d streamed", len(r.pages), len(r.binds), len(r.pushed))
		}
	})
}
