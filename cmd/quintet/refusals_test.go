package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
)

// badConfigurations are refused by serve, each for another reason.
var badConfigurations = map[string]string{
	"no YAML":                              "site: [",
	"unknown key":                          "lissten: x",
	"key twice":                            "site: {name: a}\nsite: {name: b}",
	"two documents":                        "site: {name: a}\n---\nsite: {name: b}",
	"grid too short":                       "site: {grid: 1ns}",
	"lateness":                             "site: {lateness: {slow: 1ms}}",
	"listen is no address":                 "listen: everywhere",
	"off loopback without TLS":             "listen: 0.0.0.0:0",
	"off loopback without users":           "listen: 0.0.0.0:0\nweb: {tls: {cert_file: cert.pem, key_file: key.pem}}",
	"certificate is missing":               "web: {tls: {cert_file: none.pem, key_file: none.pem}}",
	"certificate without key":              "web: {tls: {cert_file: none.pem}}",
	"authority of clients is missing":      "web: {tls: {cert_file: none.pem, key_file: none.pem, client_ca_file: none.pem}}",
	"password file is missing":             "web: {users: [{name: a, password_file: none}]}",
	"password file is empty":               "web: {users: [{name: a, password_file: empty}]}",
	"token is short":                       "web: {users: [{name: a, token_file: word}]}",
	"no bcrypt hash":                       "web: {users: [{name: a, password_hash: secret}]}",
	"user twice":                           "web: {users: [{name: a, password_file: word}, {name: a, password_file: word}]}",
	"unknown role":                         "web: {users: [{name: a, password_file: word, role: god}]}",
	"users file is missing":                "web: {users_file: none}",
	"users file asks for more":             "web: {users_file: foreign.yml}",
	"proxy of everybody":                   "web: {proxy: {header: X-User, from: [0.0.0.0/0]}}",
	"proxy without a header":               "web: {proxy: {from: [127.0.0.1]}}",
	"OIDC in the clear":                    "web: {oidc: {issuer: \"http://id.example\", client_id: q, redirect_url: \"https://q/-/callback\", groups: {a: viewer}}}",
	"OIDC for everybody":                   "web: {oidc: {issuer: \"https://id.example\", client_id: q, redirect_url: \"https://q/-/callback\"}}",
	"OIDC secret is missing":               "web: {oidc: {issuer: \"https://id.example\", client_id: q, client_secret_file: none, redirect_url: \"https://q/-/callback\", groups: {a: viewer}}}",
	"OIDC authority is missing":            "web: {oidc: {issuer: \"https://id.example\", client_id: q, tls: {ca_file: none}, redirect_url: \"https://q/-/callback\", groups: {a: viewer}}}",
	"unsigned webhook":                     "notify: {receivers: [{name: a, webhook: {url: \"https://hooks.example.org/q\"}}]}",
	"line break in a header":               "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", headers: {X-A: \"b\\r\\nc: d\"}}}]}",
	"reserved header":                      "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", headers: {Host: x}}}]}",
	"unknown severity":                     "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\"}, severities: [grave]}]}",
	"secret file is missing":               "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", secret_file: none}}]}",
	"secret is weak":                       "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", secret_file: word}}]}",
	"webhook's authority is missing":       "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", tls: {ca_file: none}}}]}",
	"webhook to a metadata service":        "notify: {receivers: [{name: a, alertmanager: {urls: [\"http://169.254.169.254/\"]}}]}",
	"webhook beside the allow list":        "egress: {allow: [10.0.0.0/8]}\nnotify: {receivers: [{name: a, alertmanager: {urls: [\"http://198.51.100.7/\"]}}]}",
	"allow list of no address":             "egress: {allow: [\"10.0.0.0/99\"]}",
	"receiver twice":                       "notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\"}}, {name: a, webhook: {url: \"http://127.0.0.1:1/\"}}]}",
	"route to nobody":                      "notify: {routes: [{receivers: [nobody]}]}",
	"matcher":                              "notify: {routes: [{matchers: [\"job=~(\"], receivers: [a]}], receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\"}}]}",
	"template":                             "notify: {receivers: [{name: a, pagerduty: {routing_key_file: word, title: \"{{nothing}}\"}}]}",
	"key of PagerDuty is missing":          "notify: {receivers: [{name: a, pagerduty: {routing_key_file: none}}]}",
	"address of Slack is missing":          "notify: {receivers: [{name: a, slack: {api_url_file: none}}]}",
	"remote write to a metadata service":   "store: {remote_write: [{url: \"http://100.100.100.200/\"}]}",
	"remote write without a URL":           "store: {remote_write: [{name: a}]}",
	"retention":                            "store: {retention: -1h}",
	"signatures are missing":               "signatures: [none]",
	"credentials are missing":              "nats: {urls: [\"nats://127.0.0.1:1\"], credentials_file: none}",
	"credentials are none":                 "nats: {urls: [\"nats://127.0.0.1:1\"], credentials_file: word}",
	"NATS listens nowhere":                 "nats: {listen: everywhere}",
	"NATS both ways":                       "nats: {urls: [\"nats://127.0.0.1:1\"], listen: \"127.0.0.1:0\"}",
	"management prefix":                    "management: [10.0.0.0]",
	"unknown collector":                    "collectors: {telepathy: [{}]}",
	"unknown key of a collector":           "collectors: {sysfs: [{pth: /sys}]}",
	"receiver of pushes off loopback":      "collectors: {receive: [{otlp_grpc: {listen: \"0.0.0.0:0\"}}]}",
	"two receivers of pushes":              "collectors: {receive: [{}, {}]}",
	"mapping is wrong":                     "collectors: {receive: [{files: [mapping.yaml]}]}",
	"target beyond the management network": "management: [10.20.0.0/16]\ncollectors: {receive: [{otlp_grpc: {listen: \"192.0.2.1:4317\", tls: {cert_file: none, key_file: none}, authorization: {credentials_file: word}}}]}",
}

// TestCheckConfigRefusesWhatServeRefuses: each of a table of wrong configurations is
// refused by both.
func TestCheckConfigRefusesWhatServeRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"empty": "", "word": "abc\n", "foreign.yml": "tls_server_config: {}\n", "mapping.yaml": "entity: nonsense\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	both := func(name, text string, patience time.Duration) (check, serve int, said string) {
		if !strings.HasPrefix(text, "listen:") {
			text = "listen: 127.0.0.1:0\n" + text
		}
		path := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		check = app().Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: &out}, []string{"check", "config", path})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		serve = app().Run(&cli.Shell{Ctx: ctx, Out: &out, Err: &out}, []string{"serve", "--config", path, "--data", filepath.Join(dir, "data", name), "--log-level", "error"})
		return check, serve, out.String()
	}
	var names []string
	for name := range badConfigurations {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if check, serve, said := both(strings.Repeat("x", i+1), badConfigurations[name], 20*time.Second); check != cli.Wrong || serve != cli.Wrong {
			t.Errorf("%s: check config %d, serve %d, want %d of both:\n%s", name, check, serve, cli.Wrong, said)
		}
	}
}
