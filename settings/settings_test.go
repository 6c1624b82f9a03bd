package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// tls stands for a block that several entries have.
type tls struct {
	CA   string `yaml:"ca_file" was:"ca"`
	Cert string `yaml:"cert_file"`
}

func (t tls) Validate() error {
	if t.Cert != "" && t.CA == "" {
		return settings.Errorf("cert_file", "requires ca_file")
	}
	return nil
}

type auth struct {
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file"`
}

// place has a short form.
type place struct {
	Address string            `yaml:"address"`
	Labels  map[string]string `yaml:"labels" max:"2"`
}

func (p *place) Set(text string) error {
	if !strings.Contains(text, ":") {
		return errors.New("want host:port")
	}
	p.Address = text
	return nil
}

type entry struct {
	Interval time.Duration   `yaml:"interval" was:"every" default:"10s" min:"1s" max:"1h"`
	Size     settings.Bytes  `yaml:"size" default:"64KiB"`
	Count    int             `yaml:"count" max:"9"`
	Mode     string          `yaml:"mode" oneof:"a b"`
	Quiet    bool            `yaml:"logs" invert:"true"`
	TLS      tls             `yaml:"tls"`
	Auth     auth            `yaml:"basic_auth" was:"user=username,password_file=password_file"`
	Targets  []place         `yaml:"targets" was:"address=0.address" max:"3"`
	Files    []settings.Text `yaml:"files,single"`
	Since    time.Time       `yaml:"since"`
	Listen   string          `yaml:"listen" format:"address"`
	URL      string          `yaml:"url" format:"url"`
}

func decode(t *testing.T, text string) (e entry, err error) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	err = settings.Decode("x", &n, &e)
	return e, err
}

// TestDecode: every kind of value is read, and what is not set has its default.
func TestDecode(t *testing.T) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("interval: 2d\nsize: 2MiB\ncount: 3\nmode: b\nlogs: false\ntls: {ca_file: c, cert_file: d}\ntargets: [a:1, {address: b:2, labels: {x: y}}]\nfiles: f\nsince: 2026-01-02T03:04:05Z\n"), &n); err != nil {
		t.Fatal(err)
	}
	n.Content[0].Content[1].Value = "20m"
	var e entry
	if err := settings.Decode("x", &n, &e); err != nil {
		t.Fatal(err)
	}
	if e.Interval != 20*time.Minute || e.Size != 2<<20 || e.Count != 3 || e.Mode != "b" || !e.Quiet || e.TLS.CA != "c" || len(e.Targets) != 2 || e.Targets[1].Labels["x"] != "y" || e.Files[0].Value != "f" || e.Files[0].Line != 8 || e.Since.Year() != 2026 {
		t.Errorf("%+v", e)
	}
	for _, empty := range []*yaml.Node{nil, {}} {
		var e entry
		if err := settings.Decode("x", empty, &e); err != nil || e.Interval != 10*time.Second || e.Size != 64<<10 || e.Quiet {
			t.Errorf("defaults: %+v, %v", e, err)
		}
	}
}

// TestDecodeRefusesWithAPlace: whatever is wrong is named with line and column, and
// everything that is wrong is named.
func TestDecodeRefusesWithAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"zebra: red":                            `1:1: x: unknown key "zebra"; want one of interval, size,`,
		"interval: 10ms":                        "1:11: x: interval: 10ms, want 1s to 1h0m0s",
		"interval: soon":                        `1:11: x: interval: want a duration such as 2s or 500ms, found "soon"`,
		"size: 2MX":                             `1:7: x: size: want a size such as 512MiB or 8GiB, found "2MX"`,
		"size: 9000000TB":                       "1:7: x: size: want a size",
		"intervall: 2s":                         `1:1: x: unknown key "intervall"; did you mean interval?`,
		"listen: here":                          `1:9: x: listen: want an address such as 127.0.0.1:8420, found "here"`,
		"url: ftp://u:secret@h/":                "1:6: x: url: want a URL such as https://quintet.example.org",
		"size: -1":                              "1:7: x: size: -1, want more than 0",
		"count: 10":                             "1:8: x: count: 10, want 1 to 9",
		"mode: c":                               `1:7: x: mode: want one of a, b, found "c"`,
		"logs: maybe":                           `1:7: x: logs: want true or false, found "maybe"`,
		"tls: {cert_file: d}":                   "1:18: x: tls: cert_file: requires ca_file",
		"tls: [a]":                              "1:6: x: tls: want keys and values, found a list",
		"targets: {a: b}":                       "1:10: x: targets: want a list, found keys and values",
		"targets: [a]":                          "1:11: x: targets: want host:port",
		"targets: ['a:1', 'a:2', 'a:3', 'a:4']": "1:10: x: targets: 4, want at most 3",
		"targets: [{labels: {a: [b]}}]":         "1:24: x: targets: labels: a: want text, found a list",
		"count: 1\ncount: 2":                    `2:1: x: duplicate key "count": also in line 1`,
		"tls: &t {}\nbasic_auth: *t":            "2:13: x: basic_auth: want a value, found an alias, which is not supported",
		"since: today":                          "1:8: x: since: want a time such as",
		"mode: \"a\\0\"":                        "1:7: x: mode: a zero byte",
		"every: 1s":                             "1:1: x: every is now interval: run quintet config migrate FILE",
		"tls: {ca: c}":                          "1:7: x: tls: ca is now ca_file: run",
		"address: h:1":                          "1:1: x: address is now targets.address: run",
		"count: x\nmode: c":                     "\n2:7: x: mode",
	} {
		if _, err := decode(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// TestParseDuration: the forms of Go and of Prometheus, and nothing that is too long.
func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "15d": 360 * time.Hour,
		"1w": 168 * time.Hour, "1y2w3d4h": (365+14+3)*24*time.Hour + 4*time.Hour, "1d12h": 36 * time.Hour} {
		if got, err := settings.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1d2w", "1.5d", "-1d", "1d-2h", "300y", "65536d", "292y5000h", "1d ", "5"} {
		if got, err := settings.ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestParseBytes: as in Prometheus, KB and KiB are both 1024 bytes.
func TestParseBytes(t *testing.T) {
	for text, want := range map[string]settings.Bytes{"1000000": 1000000, "5B": 5, "64KiB": 64 << 10, "64KB": 64 << 10, "2 GiB": 2 << 30, "1PB": 1 << 50, "7EB": 7 << 60} {
		if got, err := settings.ParseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "KB", "iB", "8EB", "1.5GB", "2M", "2MX", "2iB"} {
		if got, err := settings.ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TestRename: former names are read as what they are now, wherever that is, and are
// reported with their place.
func TestRename(t *testing.T) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("# about\nevery: 2s\nuser: u # who\npassword_file: p\naddress: h:1\ntls: {ca: c}\n"), &n); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range settings.Rename(&n, entry{}) {
		got = append(got, r.String())
	}
	want := []string{"every is now interval", "tls.ca is now tls.ca_file", "user is now basic_auth.username", "password_file is now basic_auth.password_file", "address is now targets.address"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	text, err := yaml.Marshal(&n)
	if err != nil {
		t.Fatal(err)
	}
	if want := "# about\ninterval: 2s\nbasic_auth:\n    username: u # who\n    password_file: p\ntargets:\n    - address: h:1\ntls: {ca_file: c}\n"; string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if again := settings.Rename(&n, entry{}); len(again) > 0 {
		t.Errorf("renamed twice: %v", again)
	}
	var e entry
	if err := settings.Decode("x", &n, &e); err != nil || e.Auth.PasswordFile != "p" || e.Targets[0].Address != "h:1" {
		t.Errorf("%+v, %v", e, err)
	}
}

// FuzzDecode: whatever a document is, it is decoded or refused with a place.
func FuzzDecode(f *testing.F) {
	f.Add("interval: 2s\nuser: a\ntargets: [a:1, {address: b}]\nfiles: [a]\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		var n yaml.Node
		if yaml.Unmarshal([]byte(text), &n) != nil {
			t.Skip()
		}
		var e entry
		for _, p := range settings.Problems(nil, settings.Decode("x", &n, &e)) {
			if p.Line == 0 || p.Text == "" {
				t.Errorf("%q: a problem without a place: %v", text, p)
			}
		}
	})
}

// TestNearest: swapped neighbours are one mistake, and nothing is like another word.
func TestNearest(t *testing.T) {
	names := []string{"serve", "score", "replay", "a"}
	for word, want := range map[string]string{"sevre": "serve", "serv": "serve", "repaly": "replay", "scroe": "score", "frobnicate": "", "": "a", strings.Repeat("serve", 9): ""} {
		if got := settings.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
