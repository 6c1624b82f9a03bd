package receive

import (
	"encoding/asn1"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// wantPlant is what deploy/telegraf's configuration and the mapping "telegraf"
// make of the plant of these tests.
const wantPlant = `cdu:cdu00 coolant_flow_liters_per_minute=412.5
cdu:cdu00 coolant_pressure_pascals=180000
cdu:cdu00 coolant_return_celsius=41.8
cdu:cdu00 coolant_supply_celsius=29.9
cdu:cdu00 leak_detected=1
crah:crah00 fan_speed_ratio=0.63
crah:crah00 inlet_celsius=-1.5
pdu:row1/a rack_power_watts=12340
ups:hall0/a battery_charge_ratio=0.97
ups:hall0/a feed_up=1`

// TestTelegraf: what Telegraf wrote of the plant, with our configuration, is
// understood. testdata/telegraf-plant.series was recorded by TestTelegrafItself.
func TestTelegraf(t *testing.T) {
	text, err := os.ReadFile("testdata/telegraf-plant.series")
	if err != nil {
		t.Fatal(err)
	}
	var request prompb.WriteRequest
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		s := prompb.TimeSeries{Labels: []prompb.Label{{Name: nameLabel, Value: words[0]}}, Samples: []prompb.Sample{{Timestamp: noon.UnixMilli()}}}
		for _, w := range words[1 : len(words)-1] {
			name, value, _ := strings.Cut(w, "=")
			s.Labels = append(s.Labels, prompb.Label{Name: name, Value: value})
		}
		s.Samples[0].Value = floatOf(t, words[len(words)-1])
		request.Timeseries = append(request.Timeseries, s)
	}
	body, err := request.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, Config{})
	if status, answer := p.request("/api/v1/write", string(snappy.Encode(nil, body)), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy"); status != 204 {
		t.Fatal(status, answer)
	}
	if got := plantOf(p.drain()); got != wantPlant {
		t.Errorf("got\n%s\nwant\n%s", got, wantPlant)
	}
}

// TestTelegrafItself has Telegraf read a plant over Modbus and SNMP with the
// configuration that we ship, and push it.
func TestTelegrafItself(t *testing.T) {
	telegraf := telegrafPath(t)
	p := open(t, Config{Now: time.Now})
	said := &recorded{series: map[string]string{}}
	server := httptest.NewServer(said.before(p.mux))
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), telegraf, "--config", "../../deploy/telegraf/plant.conf")
	cmd.Env = append(os.Environ(), "QUINTET_URL="+server.URL,
		"CDU_ADDRESS=tcp://"+modbus(t, map[string][]uint16{"\x04": {4125, 299, 418, 180}, "\x02": {1}}),
		"CRAH_ADDRESS=tcp://"+modbus(t, map[string][]uint16{"\x03": {10: 65521, 11: 63}}),
		"UPS_ADDRESS=udp://"+snmp(t, map[string]int{"1.3.6.1.2.1.33.1.2.4.0": 97, "1.3.6.1.2.1.33.1.4.1.0": 3}),
		"PDU_ADDRESS=udp://"+snmp(t, map[string]int{"1.3.6.1.4.1.318.1.1.26.4.3.1.5.1": 1234}))
	runUntilTheEnd(t, cmd)
	got, all := "", []string(nil)
	for limit := time.After(time.Minute); got != wantPlant; {
		select {
		case <-limit:
			t.Fatalf("got\n%s\nwant\n%s\nof\n%s\n%s", got, wantPlant, said.text(), strings.Join(all, "\n"))
		case <-time.After(100 * time.Millisecond):
			all = append(all, p.drain()...)
			got = plantOf(all)
		}
	}
	if out := os.Getenv("RECORD"); out != "" {
		if err := os.WriteFile(out, []byte(said.text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// telegrafPath is where Telegraf was built; a test that needs it is skipped where
// it was not.
func telegrafPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/peers/telegraf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("Telegraf is not in bin/peers: make peers-collectors builds it")
	}
	return path
}

// runUntilTheEnd runs a program until the test ends, and logs its output if the
// test has failed.
func runUntilTheEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var told strings.Builder
	cmd.Stderr = &told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(told.String())
		}
	})
}

// TestTelegrafsOTLP has Telegraf push by OTLP over gRPC.
func TestTelegrafsOTLP(t *testing.T) {
	telegraf := telegrafPath(t)
	p, address := listening(t, Config{Now: time.Now})
	file := filepath.Join(t.TempDir(), "telegraf.conf")
	write(t, file, "[agent]\ninterval = '1s'\nflush_interval = '1s'\nomit_hostname = true\n[[outputs.opentelemetry]]\nservice_address = '"+address+"'\ncompression = 'gzip'\n"+
		"[[inputs.mock]]\nmetric_name = 'plant_cdu'\n[inputs.mock.tags]\ncdu = 'cdu00'\n[[inputs.mock.constant]]\nname = 'flow_liters_per_minute'\nvalue = 412.5\n")
	cmd := exec.CommandContext(t.Context(), telegraf, "--config", file)
	runUntilTheEnd(t, cmd)
	var all []string
	for limit := time.After(time.Minute); !strings.Contains(plantOf(all), "cdu:cdu00 coolant_flow_liters_per_minute=412.5"); {
		select {
		case <-limit:
			t.Fatalf("got\n%s", strings.Join(all, "\n"))
		case <-time.After(100 * time.Millisecond):
			all = append(all, p.drain()...)
		}
	}
}

// plantOf lists the samples of frames, once each, in order.
func plantOf(lines []string) string {
	seen := map[string]bool{}
	for _, l := range lines {
		words := strings.Fields(l)
		if words[0] != "frame" {
			continue
		}
		for i := 1; i+1 < len(words); i++ {
			if strings.Contains(words[i], ":") && strings.Contains(words[i+1], "=") && !strings.HasPrefix(words[i], "collector:") {
				seen[words[i]+" "+words[i+1]] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), "\n")
}

// recorded keeps the series that were pushed, as lines.
type recorded struct {
	mu     sync.Mutex
	series map[string]string
}

func (r *recorded) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err == nil {
			r.note(body)
		}
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, req)
	})
}

func (r *recorded) note(body []byte) {
	plain, err := snappy.Decode(nil, body)
	var m prompb.WriteRequest
	if err != nil || m.Unmarshal(plain) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range m.Timeseries {
		line := ""
		for _, l := range s.Labels {
			if l.Name == nameLabel {
				line = l.Value + line
				continue
			}
			line += " " + l.Name + "=" + strings.ReplaceAll(l.Value, " ", "_")
		}
		r.series[line] = textOf(s.Samples[0].Value)
	}
}

func (r *recorded) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := "# What Telegraf pushed of the plant of TestTelegrafItself: name, labels, value.\n"
	for _, line := range slices.Sorted(maps.Keys(r.series)) {
		out += line + " " + r.series[line] + "\n"
	}
	return out
}

// modbus serves registers by function (one byte) over Modbus TCP.
func modbus(t *testing.T, by map[string][]uint16) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerModbus(c, by)
		}
	}()
	return l.Addr().String()
}

func answerModbus(c net.Conn, by map[string][]uint16) {
	defer c.Close()
	for {
		ask := make([]byte, 12) // identifier, protocol, length, unit; function, address, count
		if _, err := io.ReadFull(c, ask); err != nil {
			return
		}
		at, n := int(binary.BigEndian.Uint16(ask[8:])), int(binary.BigEndian.Uint16(ask[10:]))
		registers := by[string(ask[7:8])]
		var data []byte
		if at+n > len(registers) {
			data = []byte{ask[7] | 0x80, 2} // illegal address
		} else if data = []byte{ask[7], 0}; ask[7] <= 2 {
			bits := byte(0)
			for i, x := range registers[at : at+n] {
				bits |= byte(x) << i
			}
			data = append(data, bits)
		} else {
			for _, x := range registers[at : at+n] {
				data = binary.BigEndian.AppendUint16(data, x)
			}
		}
		if data[0] < 0x80 {
			data[1] = byte(len(data) - 2)
		}
		reply := binary.BigEndian.AppendUint16(slices.Clone(ask[:4]), uint16(len(data)+1))
		if _, err := c.Write(append(append(reply, ask[6]), data...)); err != nil {
			return
		}
	}
}

// The messages of SNMPv2c (RFC 3416), as far as a Get needs them.
type (
	snmpMessage struct {
		Version   int
		Community []byte
		PDU       asn1.RawValue
	}
	snmpPDU struct {
		ID, Error, Index int
		Binds            []snmpBind
	}
	snmpBind struct {
		OID   asn1.ObjectIdentifier
		Value asn1.RawValue
	}
)

// snmp serves numbers by object over SNMPv2c.
func snmp(t *testing.T, by map[string]int) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := answerSNMP(b[:n], by); reply != nil {
				_, _ = c.WriteTo(reply, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

func answerSNMP(b []byte, by map[string]int) []byte {
	var m snmpMessage
	var p snmpPDU
	if _, err := asn1.Unmarshal(b, &m); err != nil {
		return nil
	}
	if _, err := asn1.UnmarshalWithParams(m.PDU.FullBytes, &p, "tag:0"); err != nil {
		return nil
	}
	for i, x := range p.Binds {
		value := []byte{0x80, 0} // no such object
		if n, ok := by[x.OID.String()]; ok {
			value, _ = asn1.Marshal(n)
		}
		p.Binds[i].Value = asn1.RawValue{FullBytes: value}
	}
	pdu, err := asn1.MarshalWithParams(p, "tag:2")
	if err != nil {
		return nil
	}
	m.PDU = asn1.RawValue{FullBytes: pdu}
	out, err := asn1.Marshal(m)
	if err != nil {
		return nil
	}
	return out
}

func floatOf(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func textOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
