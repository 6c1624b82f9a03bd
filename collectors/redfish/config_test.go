package redfish

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
)

func decode(t *testing.T, text string) (c Config, err error) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	all, err := DecodeConfig(&n)
	if len(all) > 0 {
		c = all[0]
	}
	return c, err
}

func TestAWholeEntry(t *testing.T) {
	c, err := decode(t, `
targets:
  - address: 10.1.2.3:8443
    entity: cdu:cdu00
    entities:
      /redfish/v1/ThermalEquipment/CDUs/1/SecondaryCoolantConnectors/2: loop:r017
basic_auth: {username: monitor, password_file: /run/secrets/bmc}
auth: basic
tls: {insecure_skip_verify: true}
interval: 20s
slow_interval: 2m
discovery_interval: 30m
timeout: 3m
reports: false
events: false
logs: true
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Every != 20*time.Second || c.Slow != 2*time.Minute || c.Walk != 30*time.Minute || c.Timeout != 3*time.Minute || !c.NoReports || !c.NoEvents || c.NoLogs || c.Auth != Basic || !c.TLS.Unverified {
		t.Errorf("%+v", c)
	}
	r, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Target() != "cdu:cdu00" || r.cfg.Address != "https://10.1.2.3:8443" || r.named[0].entity != entityOf("loop:r017") {
		t.Errorf("%s %s %v", r.Target(), r.cfg.Address, r.named)
	}
}

func TestFaultsOfAnEntry(t *testing.T) {
	for text, want := range map[string]string{
		"targets: [{entity: node:n1}]":                                                                          "1:10: redfish: targets: \"\": address: required",
		"interval: 1s":                                                                                          "1:1: redfish: targets: required",
		"targets: [{address: h, entity: n1}]":                                                                   "1:10: redfish: targets: \"h\": want an entity such as node:n001",
		"targets: [{address: h, entity: node:n1}]\ninterval: 10ms":                                              "2:11: redfish: interval: 10ms, want 1s to 1h0m0s",
		"targets: [{address: h, entity: node:n1}]\nbasic_auth: {username: a}":                                   "username and password_file: each requires the other",
		"targets: [{address: h, entity: node:n1}]\nauth: session":                                               "auth and basic_auth: each requires the other",
		"targets: [{address: 'https://u:p@h', entity: node:n1}]":                                                "want https://host",
		"targets: [{address: 'https://h/redfish/v1/Chassis', entity: node:n1}]":                                 "want https://host",
		"targets: [{address: 'ftp://h', entity: node:n1}]":                                                      "want https://host",
		"targets: [{address: 'http://10.0.0.1', entity: node:n1}]\nbasic_auth: {username: a, password_file: b}": "a password does not go over http",
		"targets: [{address: h, entity: node:n1, entities: {/redfish/v2/x: loop:a}}]":                           "entities: \"/redfish/v2/x\" is not the path of a resource",
		"targets: [{address: h, entity: node:n1}]\npassword: secret":                                            "2:1: redfish: unknown key \"password\"",
		"targets: [{address: h, entity: node:n1}]\nauth: kerberos":                                              "2:7: redfish: auth: want one of session, basic, none",
		"targets: [{address: h, entity: node:n1}]\ntls: {insecure_skip_verify: true, ca_file: /etc/ca.pem}":     "2:6: redfish: tls: insecure_skip_verify and ca_file: mutually exclusive",
	} {
		if _, err := decode(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}
