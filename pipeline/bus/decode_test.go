package bus

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const someReply = "$JS.ACK.quintet-lab-log.abc.1.42.7.1800000000000000000.3"

func TestParseDelivery(t *testing.T) {
	for _, reply := range []string{someReply, strings.Replace(someReply, "ACK.", "ACK.hub.Zx81.", 1), strings.Replace(someReply, "ACK.", "ACK._.Zx81.", 1) + ".rnd"} {
		d, order, err := parseDelivery(&nats.Msg{Subject: "s", Reply: reply, Data: []byte("x")})
		if err != nil || order != 7 || d.position != 42 || d.stored != 1_800_000_000_000_000_000 || d.pending != 3 || d.subject != "s" {
			t.Errorf("%s: %+v, %d, %v", reply, d, order, err)
		}
	}
	for _, reply := range []string{"", "x", "$JS.ACK.", someReply + ".x", strings.Replace(someReply, "42", "-42", 1), strings.Replace(someReply, "42", "99999999999999999999", 1)} {
		if _, _, err := parseDelivery(&nats.Msg{Reply: reply}); err == nil {
			t.Errorf("%q: no error", reply)
		}
	}
}

func FuzzParseDelivery(f *testing.F) {
	f.Add(someReply)
	f.Add(strings.Repeat(".", 40))
	f.Fuzz(func(t *testing.T, reply string) {
		d, _, err := parseDelivery(&nats.Msg{Reply: reply})
		if err == nil && (d.stored < 0 || !strings.HasPrefix(reply, ackPrefix)) {
			t.Fatalf("%q: %+v", reply, d)
		}
	})
}

func TestParseAck(t *testing.T) {
	for text, want := range map[string]error{
		`{"stream":"s","seq":1}`: nil, `{"stream":"quintet-lab-log", "seq":1}`: nil, `{"stream":"quintet-lab-log","seq":1,"duplicate": true}`: nil,
		`{"stream":"s","seq":1,"duplicate":true}`: nil,
		`{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"},"stream":"s"}`: ErrRefused,
	} {
		duplicate, err := parseAck(&nats.Msg{Data: []byte(text)})
		if !errors.Is(err, want) || duplicate != strings.Contains(text, "duplicate") {
			t.Errorf("%s: %v, %v", text, duplicate, err)
		}
	}
	for _, text := range []string{`{"error":{"code":503,"description":"insufficient resources"}}`, `{}`, `x`, ``,
		`{"stream":"quintet-lab-log","error":{"code":503,"description":"insufficient resources"},"seq":0}`} {
		if _, err := parseAck(&nats.Msg{Data: []byte(text)}); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v; want an error that may pass", text, err)
		}
	}
	if _, err := parseAck(&nats.Msg{Header: nats.Header{"Status": {"503"}}}); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("no responders: %v", err)
	}
}

func FuzzAck(f *testing.F) {
	f.Add("1a.7", []byte(`{"stream":"s","seq":1}`))
	f.Add("1.", []byte(`{"error":{"code":503}}`))
	count := newCounters(metrics.NewSet())
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		if _, i, ok := ackSubject(subject); ok && i < 0 {
			t.Logf("index %d", i) // settle refuses it
		}
		p := &publisher{bus: &Bus{count: count}, prefix: "p", batches: map[uint64]*batch{46: {
			messages: make([]Message, 8), done: make([]bool, 8), published: 8, pending: 8, failed: 8, moved: make(chan struct{}, 1)}}}
		p.handleAck(&nats.Msg{Subject: "p." + subject, Data: data})
		if b := p.batches[46]; b.pending < 0 || b.pending > 8 {
			t.Fatalf("%d pending", b.pending)
		}
	})
}

func TestDeniedSubject(t *testing.T) {
	for text, want := range map[string]string{
		`Permissions Violation for Publish to "quintet.v1.lab.ticks"`: "quintet.v1.lab.ticks",
		`Permissions Violation for Subscription to ">"`:               "",
		`Permissions Violation for Publish to "`:                      "",
	} {
		got, ok := deniedSubject(fmt.Errorf("%w: %s", nats.ErrPermissionViolation, text))
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
	if _, ok := deniedSubject(errors.New(`Permissions Violation for Publish to "x"`)); ok {
		t.Error("not from the server")
	}
}

// file composes a credentials file around a token's claims.
func file(claims string) []byte {
	body := base64.RawURLEncoding.EncodeToString([]byte(claims))
	return fmt.Appendf(nil, "-----BEGIN NATS USER JWT-----\nhead.%s.sign\n------END NATS USER JWT------\n", body)
}

func TestUserOf(t *testing.T) {
	if got, err := userOf(file(`{"sub":"UABC"}`)); got != "UABC" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "no block": []byte("x"), "no subject": file(`{}`), "no claims": file(`x`), "a subject that reaches out": file(`{"sub":"a.>"}`),
		"two parts": []byte("-----BEGIN NATS USER JWT-----\na.b\n------END NATS USER JWT------\n"),
		"no base64": []byte("-----BEGIN NATS USER JWT-----\na.b=.c\n------END NATS USER JWT------\n"), "too much": make([]byte, maxCredentials+1),
	} {
		if got, err := userOf(b); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, b := range []string{"-----BEGIN CERTIFICATE-----\nx", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, err := authorities([]byte(b)); err == nil {
			t.Errorf("%q: no error", b)
		}
	}
}

func FuzzCredentials(f *testing.F) {
	f.Add(file(`{"sub":"UABC"}`))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if user, err := userOf(b); err == nil && strings.ContainsAny(user, ".*> ") {
			t.Fatalf("user %q", user)
		}
		_, _ = securityOptions(b)
	})
}

func FuzzParseSnapshot(f *testing.F) {
	text, err := json.Marshal(SnapshotInfo{Position: 7, Tick: 1_800_000_000_000_000_000, Engine: "e", Rules: "r"}.object("b", "id", []byte("data")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"name":"x","metadata":{"position":"-1"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		i, o, err := parseSnapshot(text)
		if err == nil && (o.Name != i.name() || strings.ContainsAny(o.NUID, ".*> ")) {
			t.Fatalf("%q: %+v", text, i)
		}
	})
}

func TestParseSnapshot(t *testing.T) {
	want := SnapshotInfo{Position: 7, Tick: 99, Engine: "e", Rules: "r", Size: 4}
	o := want.object("b", "id", []byte("data"))
	for name, change := range map[string]func(*jetstream.ObjectInfo){
		"": func(*jetstream.ObjectInfo) {}, "position": func(o *jetstream.ObjectInfo) { o.Metadata["position"] = "" },
		"tick": func(o *jetstream.ObjectInfo) { o.Metadata["tick"] = "x" }, "name": func(o *jetstream.ObjectInfo) { o.Name = "other" },
		"id": func(o *jetstream.ObjectInfo) { o.NUID = "*" },
	} {
		o := want.object("b", o.NUID, []byte("data"))
		change(&o)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := parseSnapshot(text)
		if (err != nil) != (name != "") || name == "" && got != want {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}
