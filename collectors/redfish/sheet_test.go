package redfish

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

func entityOf(s string) telemetry.Entity {
	kind, name, _ := strings.Cut(s, ":")
	return telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
}

func standardMapping(t testing.TB) *library {
	t.Helper()
	m, err := loadMapping(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// told is the content of pages as text: readings, then why some were left out.
func told(s *sheet) (out []string) {
	for _, r := range s.readings {
		text := "gap"
		if !r.gap {
			text = fmt.Sprintf("%g", r.column.Float(r.word))
		}
		out = append(out, fmt.Sprintf("%s %s %s", r.entity, r.metric, text))
	}
	for _, why := range collectors.Reasons() {
		if n := s.dropped[why]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", why, n))
		}
	}
	return out
}

// says reads pages of a service that is a node, a cdu …, in order of their paths,
// and returns what they report.
func says(t testing.TB, m *library, self string, pages map[string]string, names ...named) (out []string) {
	t.Helper()
	v := &view{rules: m, self: entityOf(self), named: names, chassis: map[string]string{}}
	var paths []string
	for p := range pages {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		doc, err := parse([]byte(pages[p]))
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, told(v.read(p, doc))...)
	}
	return out
}

func want(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const rackMount = `{"ChassisType": "RackMount"}`

// TestANumberThatIsNone: what firmware writes in place of a number is a gap, and
// never zero.
func TestANumberThatIsNone(t *testing.T) {
	m := standardMapping(t)
	for text, why := range map[string]string{
		`null`: "unsupported", `"N/A"`: "unsupported", `"Null"`: "unsupported", `"Out of range"`: "unsupported", `""`: "unsupported", `"nan"`: "unsupported",
		`{}`: "unsupported", `{"Reading": null}`: "unsupported", `{"Reading": {"Reading": 1}}`: "malformed", `true`: "malformed", `[]`: "malformed",
		`"0x10"`: "malformed", `"12 W"`: "malformed", `"1_0"`: "malformed", `"Inf"`: "malformed", `65535`: "unsupported", `4294967295`: "unsupported",
		`1e400`: "out_of_range", `"65535.0"`: "unsupported", `-2147483648`: "unsupported",
	} {
		got := says(t, m, "node:n1", map[string]string{"/redfish/v1/Chassis/1": rackMount, "/redfish/v1/Chassis/1/EnvironmentMetrics": `{"PowerWatts": ` + text + `}`})
		want(t, got, "node:n1 node_power_watts gap", why+" 1")
	}
	for text, value := range map[string]string{`0`: "0", `"374"`: "374", `374.5`: "374.5", `{"Reading": "374"}`: "374", `3.74e2`: "374", `" 12 "`: "12"} {
		got := says(t, m, "node:n1", map[string]string{"/redfish/v1/Chassis/1": rackMount, "/redfish/v1/Chassis/1/EnvironmentMetrics": `{"PowerWatts": ` + text + `}`})
		want(t, got, "node:n1 node_power_watts "+value)
	}
}

// TestUnits: a sensor reports its unit, and the series has the base unit.
func TestUnits(t *testing.T) {
	m := standardMapping(t)
	sensor := func(reading, units string) []string {
		return says(t, m, "node:n1", map[string]string{"/redfish/v1/Chassis/1/Sensors/Inlet": fmt.Sprintf(
			`{"ReadingType": "Temperature", "PhysicalContext": "Intake", "Reading": %s, "ReadingUnits": %q}`, reading, units)})
	}
	want(t, sensor("24.5", "Cel"), "node:n1 inlet_celsius 24.5")
	want(t, sensor("77", "[degF]"), "node:n1 inlet_celsius 25")
	want(t, sensor("300.25", "K"), "node:n1 inlet_celsius 27.100000000000023")
	want(t, sensor("24.5", "furlongs"), "node:n1 inlet_celsius gap", "unknown 1")
	want(t, sensor("1000", "Cel"), "node:n1 inlet_celsius gap", "out_of_range 1")
}

// TestHeadroomIsNoTemperature: degrees left to a limit fall as it gets hotter.
func TestHeadroomIsNoTemperature(t *testing.T) {
	m := standardMapping(t)
	page := func(basis string) map[string]string {
		return map[string]string{"/redfish/v1/Chassis/HGX_GPU_3/Sensors/T": `{"ReadingType": "Temperature", "PhysicalContext": "GPU", "Reading": 58.0, "ReadingUnits": "Cel"` + basis + `}`}
	}
	want(t, says(t, m, "node:n1", page(`, "ReadingBasis": "Headroom"`)), "gpu:n1/3 gpu_temperature_margin_celsius 58")
	want(t, says(t, m, "node:n1", page(`, "ReadingBasis": "Zero"`)), "gpu:n1/3 gpu_temperature_celsius 58")
	want(t, says(t, m, "node:n1", page(``)), "gpu:n1/3 gpu_temperature_celsius 58")
	want(t, says(t, m, "node:n1", page(`, "ReadingBasis": "Delta"`)))
}

// TestWhatIsNotThereHasNoNumbers: an empty bay is no supply that failed, and
// what is off reads no zero.
func TestWhatIsNotThereHasNoNumbers(t *testing.T) {
	m := standardMapping(t)
	supply := func(text string) []string {
		return says(t, m, "shelf:r1/a", map[string]string{"/redfish/v1/Chassis/S/PowerSubsystem/PowerSupplies/2": text})
	}
	want(t, supply(`{"Status": {"State": "Enabled", "Health": "OK"}, "LineInputStatus": "Normal"}`), "psu:r1/a/2 psu_up 1")
	want(t, supply(`{"Status": {"State": "Enabled", "Health": "OK"}, "LineInputStatus": "LossOfInput"}`), "psu:r1/a/2 psu_up 0")
	want(t, supply(`{"Status": {"State": "Enabled", "Health": "Critical"}}`), "psu:r1/a/2 psu_up 0")
	want(t, supply(`{"Status": {"State": "Enabled", "Health": null}}`), "psu:r1/a/2 psu_up 1")
	want(t, supply(`{"Status": {"State": "Absent", "Health": "OK"}}`), "psu:r1/a/2 psu_up gap", "unsupported 1")
	want(t, supply(`{"Status": {"State": "Gone fishing", "Health": "OK"}}`), "psu:r1/a/2 psu_up gap", "unknown 1")
	want(t, supply(`{"Status": {"State": "Standby"}}`), "psu:r1/a/2 psu_up 1") // Lite-On's word
	want(t, supply(`{"Name": "nothing more"}`))
	want(t, says(t, m, "node:n1", map[string]string{"/redfish/v1/Chassis/1/ThermalSubsystem/Fans/1": `{"SpeedPercent": {"Reading": 0}, "Status": {"State": "Absent"}}`}),
		"fan:n1/1 fan_speed_ratio gap", "unsupported 1")
}

// TestLeakDetectors: both places, the words of the schema and one that a device
// has made up.
func TestLeakDetectors(t *testing.T) {
	m := standardMapping(t)
	for _, place := range []string{"Chassis/1/LeakDetectors/A", "Chassis/1/ThermalSubsystem/LeakDetection/LeakDetectors/A"} {
		for text, says1 := range map[string]string{`"DetectorState": "OK"`: "0", `"DetectorState": "Critical"`: "1", `"DetectorState": "Warning"`: "1",
			`"DetectorState": "LeakDetected", "Status": {"Health": "Critical"}`: "1", `"DetectorState": null, "Status": {"Health": "Critical"}`: "1"} {
			want(t, says(t, m, "node:n1", map[string]string{root + "/" + place: "{" + text + "}"}), "node:n1 leak_detected "+says1)
		}
		want(t, says(t, m, "node:n1", map[string]string{root + "/" + place: `{"DetectorState": "Unavailable", "Status": {"Health": "OK"}}`}),
			"node:n1 leak_detected gap", "unsupported 1")
	}
	loop := named{root + "/ThermalEquipment/CDUs/1/LeakDetection/LeakDetectors/west", entityOf("loop:r7")}
	want(t, says(t, m, "cdu:c1", map[string]string{loop.path: `{"DetectorState": "Critical"}`}, loop), "loop:r7 leak_detected 1")
}

// TestOnlyTheWholeIsTheNode: a GPU's tray is a chassis too, and its power is not
// the node's.
func TestOnlyTheWholeIsTheNode(t *testing.T) {
	m := standardMapping(t)
	for kind, readings := range map[string][]string{"Sled": {"node:n1 node_power_watts 5000"}, "Module": nil, "Component": nil} {
		want(t, says(t, m, "node:n1", map[string]string{"/redfish/v1/Chassis/X": `{"ChassisType": "` + kind + `"}`,
			"/redfish/v1/Chassis/X/EnvironmentMetrics": `{"PowerWatts": {"Reading": 5000}}`}), readings...)
	}
}

// TestTheSameGPUUnderTwoSystems: the document names its own page.
func TestTheSameGPUUnderTwoSystems(t *testing.T) {
	m := standardMapping(t)
	v := &view{rules: m, self: entityOf("node:n1"), chassis: map[string]string{}}
	doc, _ := parse([]byte(`{"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_0/ProcessorMetrics", "OperatingSpeedMHz": 120}`))
	s := v.read("/redfish/v1/Systems/System_0/Processors/GPU_0/ProcessorMetrics", doc)
	if got := s.readings[0].from; got != "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_0/ProcessorMetrics#/OperatingSpeedMHz" {
		t.Error(got)
	}
	// But a page does not pass for another one.
	doc, _ = parse([]byte(`{"@odata.id": "/redfish/v1/Systems/X/Processors/GPU_1/ProcessorMetrics", "OperatingSpeedMHz": 120}`))
	if got := v.read("/redfish/v1/Systems/X/Processors/GPU_0", doc); len(got.readings) != 0 {
		t.Error(told(got))
	}
}

// TestDurations: ISO 8601 to the nanosecond.
func TestDurations(t *testing.T) {
	for text, seconds := range map[string]float64{"PT0S": 0, "PT1M": 60, "PT23H59M34.146524704S": 86374.146524704, "P1DT2H": 93600, "P1W": 604800, "PT0,5S": 0.5,
		"PT36H": 129600, "P3D": 259200, "PT0.25S": 0.25, "PT1.5H": 5400} {
		d, ok := mapping.ParseISODuration(text)
		if !ok || d.Seconds() != seconds {
			t.Errorf("%s: %v %v, want %g s", text, d, ok, seconds)
		}
	}
	for _, text := range []string{"", "P", "PT", "T1S", "1S", "PT1", "PTS", "P1Y", "P1M", "-PT1S", "PT-1S", "PT1S1M", "PT1S2S", "P1H", "PT1D", "PT1H ", "PT9999999999H", "pt1s", "PT1.2.3S"} {
		if d, ok := mapping.ParseISODuration(text); ok {
			t.Errorf("%q is %s", text, d)
		}
	}
}

// TestCountersKeepTheirLowBits above 2^53, where a binary64 does not.
func TestCountersKeepTheirLowBits(t *testing.T) {
	v := &view{rules: standardMapping(t), self: entityOf("node:n1"), chassis: map[string]string{}}
	doc, _ := parse([]byte(`{"RXBytes": 18446744073709551615, "TXBytes": 9007199254740993}`))
	s := v.read("/redfish/v1/Systems/H/Processors/GPU_1/Ports/NVLink_2/Metrics", doc)
	if len(s.readings) != 2 || s.readings[0].word != 18446744073709551615 || s.readings[1].word != 9007199254740993 {
		t.Error(told(s))
	}
}

// TestPatterns: parts, captures, letters of either case.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path, want string
		leads               bool
	}{
		{"Chassis/*/Sensors/ps{n}_input_power", "/redfish/v1/chassis/1/Sensors/ps4_input_power", "n 4", true},
		{"Chassis/*/Sensors/ps{n}_input_power", "/redfish/v1/Chassis/1/Sensors/ps_input_power", "no", false},
		{"Chassis/*/Sensors/*", "/redfish/v1/Chassis/1/Sensors", "no", true},
		{"Chassis/*", "/redfish/v1/Chassis/1/Sensors", "no", false},
		{"Systems/*/Processors/GPU_{n}", "/redfish/v1/Systems/HGX/Processors/CPU_0", "no", false},
		{"Chassis/{a}/x/{b}", "/redfish/v1/Chassis/1/x/2", "a 1 b 2", true},
	} {
		var p pattern
		if err := p.Set(c.pattern); err != nil {
			t.Fatal(err)
		}
		parts, _ := split(c.path)
		got := "no"
		if vars, ok := p.match(parts); ok {
			got = ""
			for _, v := range vars {
				got = strings.TrimSpace(got + " " + v.Name + " " + v.Value)
			}
		}
		if got != c.want || p.leads(parts) != c.leads {
			t.Errorf("%s of %s: %q, leads %v", c.pattern, c.path, got, p.leads(parts))
		}
	}
	for _, path := range []string{"/redfish/v2", "/redfish/v1x", "//evil/redfish/v1", "/redfish/v1/../x", "/redfish/v1/a?b", "/redfish/v1/a#b", "/redfish/v1//a", "https://x/redfish/v1"} {
		if _, ok := split(path); ok {
			t.Errorf("%s is taken", path)
		}
	}
}
