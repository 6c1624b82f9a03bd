package receive

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/weigh"
	"github.com/quintet-dc/quintet/telemetry"
)

// The events that others' alerts become.
const (
	alertFiring   telemetry.EventName = "alert_firing"
	alertResolved telemetry.EventName = "alert_resolved"
)

const (
	maxAlerts    = 4096 // in one request
	maxAlertText = 400  // bytes of an event's text
	maxSkew      = 5 * time.Minute
)

// foreignAlert is one alert in the form of Alertmanager and Grafana.
type foreignAlert struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Fingerprint string            `json:"fingerprint"`
}

// AlertmanagerAlerts takes POST /api/v1/alerts/alertmanager: Alertmanager's
// webhook, version 4.
func (r *Receiver) AlertmanagerAlerts(w http.ResponseWriter, req *http.Request) {
	r.takeAlerts(w, req, func(body []byte) (accepted, error) { return readWebhook(body, "4", "alertmanager", r.now()) })
}

// GrafanaAlerts takes POST /api/v1/alerts/grafana: Grafana's webhook, version 1,
// signed where a secret is configured.
func (r *Receiver) GrafanaAlerts(w http.ResponseWriter, req *http.Request) {
	r.takeAlerts(w, req, func(body []byte) (accepted, error) {
		if err := r.genuine(body, req.Header); err != nil {
			return nil, err
		}
		return readWebhook(body, "1", "grafana", r.now())
	})
}

// PushedAlerts takes POST /api/v2/alerts: what Prometheus sends to every
// Alertmanager that it knows.
func (r *Receiver) PushedAlerts(w http.ResponseWriter, req *http.Request) {
	r.takeAlerts(w, req, func(body []byte) (accepted, error) {
		var list []foreignAlert
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, faultf("", "not a list of alerts")
		}
		now := r.now()
		for i := range list {
			list[i].Status = "firing"
			if end := list[i].EndsAt; !end.IsZero() && end.UnixNano() <= int64(now) {
				list[i].Status = "resolved"
			}
		}
		return alertsOf(list, "prometheus", now)
	})
}

// alertBytes is the size of an empty alert, in a list that grew by copying.
const alertBytes = 512

func weighAlerts(body []byte) error { return weighed(weigh.JSONOf(body, alertBytes)) }

func (r *Receiver) takeAlerts(w http.ResponseWriter, req *http.Request, read func([]byte) (accepted, error)) {
	if !r.runs() {
		answerFault(w, closed())
		return
	}
	began := r.cfg.Now()
	var a accepted
	in := r.body(w, req)
	defer in.release()
	body, err := io.ReadAll(in)
	if err == nil {
		err = weighAlerts(body)
	}
	if err == nil {
		a, err = read(body)
	}
	got, err := r.emit(began, a, err)
	if err != nil {
		answerFault(w, faultOf(err))
		return
	}
	answer(w, http.StatusOK, got) // the senders take no other for success
}

// readWebhook reads what both webhooks have in common. Keys that it does not
// know are left alone: both formats grow.
func readWebhook(body []byte, version, from string, now telemetry.Time) (accepted, error) {
	var m struct {
		Version string         `json:"version"`
		Alerts  []foreignAlert `json:"alerts"`
	}
	switch err := json.Unmarshal(body, &m); {
	case err != nil:
		return nil, faultf("", "not the body of that webhook")
	case m.Version != version:
		return nil, faultf("version", "%.20q: want %q", m.Version, version)
	}
	return alertsOf(m.Alerts, from, now)
}

// alertsOf makes events of alerts.
func alertsOf(list []foreignAlert, from string, now telemetry.Time) (accepted, error) {
	if len(list) > maxAlerts {
		return nil, &fault{status: http.StatusRequestEntityTooLarge, field: "alerts", err: fmt.Errorf("more than %d in one request", maxAlerts)}
	}
	out := make(eventList, 0, len(list))
	for i, a := range list {
		place := fmt.Sprintf("alerts[%d]", i)
		if a.Labels["incident"] != "" && strings.HasPrefix(a.Labels["alertname"], "Quintet") || a.Annotations["quintet_alert"] != "" {
			continue // our own, which came round
		}
		e := &telemetry.Event{Received: now, Source: telemetry.Source{Collector: collector, Part: "alerts/" + from}, Entity: entityOf(a.Labels, from), Text: a.text()}
		at := a.StartsAt
		switch a.Status {
		case "firing":
			e.Name = alertFiring
		case "resolved":
			e.Name = alertResolved
			if !a.EndsAt.IsZero() {
				at = a.EndsAt
			}
		default:
			return nil, faultf(place+".status", "%.20q: want firing or resolved", a.Status)
		}
		if e.At = telemetry.Time(at.UnixNano()); at.IsZero() || at.Year() < 1971 || at.Year() > 2200 {
			e.At = now
		}
		if err := soon(e.At, now); err != nil {
			return nil, &fault{field: place + ".startsAt", err: err}
		}
		if err := fit(place, &telemetry.Record{Kind: telemetry.EventRecord, Event: e}); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// text describes an alert: its name and severity, its summary, and the fingerprint
// by which the sender knows it.
func (a *foreignAlert) text() string {
	words := []string{cmp.Or(a.Labels["alertname"], "alert")}
	if s := a.Labels["severity"]; s != "" {
		words = append(words, "("+s+")")
	}
	if s := cmp.Or(a.Annotations["summary"], a.Annotations["message"], a.Annotations["description"]); s != "" {
		words = append(words, s)
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(strings.Join(words, " "), " ")), " ")
	if len(text) > maxAlertText {
		text = strings.ToValidUTF8(text[:maxAlertText], "") + "…"
	}
	if f := a.Fingerprint; f != "" && len(f) <= 64 && !strings.ContainsAny(f, " \t\r\n") {
		text += " [" + strings.ToValidUTF8(f, "") + "]"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// entityOf finds the entity of an alert. Labels kind and name, as our own series
// have them, or entity, name it explicitly; otherwise the labels that exporters
// give, the closest first; otherwise it is the sender.
func entityOf(labels map[string]string, from string) telemetry.Entity {
	get := func(names ...string) string {
		for _, n := range names {
			if labels[n] != "" {
				return labels[n]
			}
		}
		return ""
	}
	stated, err := telemetry.ParseEntity(cmp.Or(labels["entity"], labels["kind"]+":"+labels["name"]))
	if err == nil {
		return stated
	}
	node, sw := host(get("node", "Hostname", "hostname", "nodename", "host")), get("switch", "sysName")
	if node == "" && sw == "" {
		node = host(labels["instance"])
	}
	for _, c := range []struct {
		kind  telemetry.Kind
		parts []string
	}{
		{telemetry.GPU, []string{node, get("gpu", "gpu_id", "minor_number")}},
		{telemetry.NIC, []string{node, get("nic", "device_rdma")}},
		{telemetry.Port, []string{sw, get("port", "interface", "ifName")}},
		{telemetry.Switch, []string{sw}},
		{telemetry.PDU, []string{labels["pdu"]}},
		{telemetry.CDU, []string{labels["cdu"]}},
		{telemetry.Node, []string{node}},
		{telemetry.Rack, []string{labels["rack"]}},
	} {
		if e, ok := built(c.kind, c.parts); ok {
			return e
		}
	}
	return collectors.Entity(collector, from)
}

// built is an entity of parts, all of which must be there.
func built(kind telemetry.Kind, parts []string) (telemetry.Entity, bool) {
	names := make([]string, len(parts))
	for i, p := range parts {
		if p == "" {
			return telemetry.Entity{}, false
		}
		names[i] = telemetry.NamePart(p)
	}
	e := telemetry.Entity{Kind: kind, Name: strings.Join(names, "/")}
	return e, e.Validate() == nil
}

// host is a machine's name without the port of its exporter.
func host(s string) string {
	if h, _, err := net.SplitHostPort(s); err == nil {
		return h
	}
	return s
}

// GrafanaSigns sets how Grafana signs its requests: with a secret, and with the
// header of its timestamp where that is not empty. It is called before Run.
func (r *Receiver) GrafanaSigns(secret func() (secret, timestamp string, err error)) {
	r.cfg.Grafana = secret
}

// signatureHeader holds Grafana's signature.
const signatureHeader = "X-Grafana-Alerting-Signature"

var errForged = errors.New("the signature is missing or does not fit")

// genuine checks Grafana's signature: the hexadecimal HMAC-SHA256 of the body,
// or of the timestamp's header, a colon and the body where one is configured.
func (r *Receiver) genuine(body []byte, h http.Header) error {
	if r.cfg.Grafana == nil {
		return nil
	}
	secret, timestamp, err := r.cfg.Grafana()
	if err != nil {
		return &fault{status: http.StatusServiceUnavailable, err: err}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	if timestamp != "" {
		at := h.Get(timestamp)
		var seconds int64
		if _, err := fmt.Sscan(at, &seconds); err != nil || time.Duration(abs(seconds-r.cfg.Now().Unix()))*time.Second > maxSkew {
			return &fault{status: http.StatusUnauthorized, field: timestamp, err: errors.New("want the seconds since 1970, within five minutes of now")}
		}
		mac.Write([]byte(at + ":"))
	}
	mac.Write(body)
	got, err := hex.DecodeString(h.Get(signatureHeader))
	if err != nil || !hmac.Equal(got, mac.Sum(nil)) {
		return &fault{status: http.StatusUnauthorized, field: signatureHeader, err: errForged}
	}
	return nil
}

func abs(n int64) int64 { return max(n, -n) }
