package gnmi

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// TestConfig: an entry is read, and each mistake is reported with its position.
func TestConfig(t *testing.T) {
	read := func(text string) (Config, error) {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return kind.Entry[Config]("gnmi")(n.Content[0])
	}
	c, err := read("targets: [leaf1, '10.0.0.2:8080', {address: '[fd00::1]:9339', name: leaf3, profile: nvos}]\nprofile: sonic\ninterval: 2s\nnames: alias\nqueues: true\ntls: {ca_file: /ca.pem}\nbasic_auth: {username_file: /u, password_file: /p}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.withDefaults(); err != nil {
		t.Fatal(err)
	}
	want := []Target{{"leaf1:9339", "leaf1", "sonic"}, {"10.0.0.2:8080", "10.0.0.2", "sonic"}, {"[fd00::1]:9339", "leaf3", "nvos"}}
	for i, w := range want {
		if c.Targets[i] != w {
			t.Errorf("target %d: %+v, want %+v", i, c.Targets[i], w)
		}
	}
	if c.Every != 2*time.Second || c.Names != "alias" || !c.Queues || c.TLS.CA != "/ca.pem" || c.Dialling != 32 || c.Keepalive != 30*time.Second {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"profile: sonic":                           "1:1: gnmi: targets: required",
		"targets: [a, a]\nprofile: sonic":          "1:10: gnmi: targets: a twice",
		"targets: [a]":                             "1:10: gnmi: targets: a: profile: required",
		"targets: [a]\nprofile: x\ninterval: 10ms": "3:11: gnmi: interval: 10ms, want 1s to 1h0m0s",
		"targets: [{adress: a}]\nprofile: x":       `1:12: gnmi: targets: unknown key "adress"; did you mean address?`,
		"targets: a\nprofile: x":                   `1:10: gnmi: targets: want a list, found "a"`,
		"targets: [a]\nprofile: x\nplaintext: true\nbasic_auth: {username: u, password_file: /p}": "gnmi: targets: plaintext: a password would be sent in the clear",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	for _, profile := range []string{"sonics", "./none.yaml"} {
		if _, err := New(Config{Targets: []Target{{Address: "a"}}, Profile: profile}, dial.Guard{}); err == nil {
			t.Errorf("profile %s: no error", profile)
		}
	}
}

// TestAProfileOfOnesOwn: a user's profile extends a built-in one; mistakes in it
// are reported with their position.
func TestAProfileOfOnesOwn(t *testing.T) {
	p, err := decodeProfile([]byte(`
profile: ours
extends: sonic
subscribe:
  - {name: trims, target: COUNTERS_DB, paths: ["COUNTERS/Ethernet*"]}
rows:
  - path: COUNTERS/Ethernet*/{port}
    entity: port:{port}
    leaves:
      SAI_PORT_STAT_TRIM_PACKETS: {metric: port_trimmed_packets_total, as: uint}
      SAI_PORT_STAT_IF_IN_ERRORS: ignore
`))
	if err != nil {
		t.Fatal(err)
	}
	tp := newTape()
	d := &desk{reader: newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second}, tp), t: t, tape: tp, now: noon}
	d.tell(0, `/COUNTERS/Ethernet* = json {"Ethernet0":{"SAI_PORT_STAT_TRIM_PACKETS":"4","SAI_PORT_STAT_IF_IN_ERRORS":"5","SAI_PORT_STAT_IF_IN_OCTETS":"6"}}`)
	d.told("extended", "port:leaf1/Ethernet0 port_rx_bytes_total 6", "port:leaf1/Ethernet0 port_trimmed_packets_total 4")
	for text, want := range map[string]string{
		"rules: []": "subscribe: nothing is subscribed to",
		"subscribe: [{name: a, paths: [/a]}]\nrules:\n  - from: /a/{port}\n    of: port:{port}\n    readings: [{from: b, metric: no_such_metric}]": `5:34: rules: readings.0.metric: no_such_metric is not declared`,
		"subscribe: [{name: a, paths: [/a]}]\nrules:\n  - from: /a\n    of: port:{port}\n    readings: [{from: b, metric: port_up}]":               `5:16: rules: readings.0: {port} of the entity is not in the path`,
		"subscribe: [{name: a, paths: [/a]}]\nrules:\n  - from: /a/{port}\n    of: psu:{port}\n    readings: [{from: b, metric: port_up}]":         `5:34: rules: readings.0.metric: port_up is declared for [`,
		"subscribe: [{name: a, paths: [/a]}]\nrules:\n  - from: /a[b\n    readings: [{from: b, metric: inlet_celsius}]":                            `3:11: rules: from: "a[b": want [key=value]`,
		"subscribe: [{name: a, paths: [/a], interval: 1ms}]":                                                                                       `1:46: subscribe: interval: 1ms, want 1s to 1h0m0s`,
		"subscribe: [{name: a, paths: [/a]}]\nrules:\n  - from: /a/{x}{y}\n    readings: [{from: b, metric: inlet_celsius}]":                       `side by side`,
		"extends: none": `1:10: extends: profile "none": want one of cumulus, nvos, openconfig, sonic`,
	} {
		if _, err := decodeProfile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
	}
}

func decodeProfile(b []byte) (*Profile, error) {
	var d Document
	_, err := mapping.Decode(b, &d)
	return d.profile, err
}
