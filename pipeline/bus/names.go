package bus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// The last tokens of the log's subjects.
const (
	framesToken  = "frames"
	schemaToken  = "schema"
	eventsToken  = "events"
	edgesToken   = "edges"
	ticksToken   = "ticks"
	configToken  = "config"
	incidentsTok = "incidents"
	alertsTok    = "alerts"
	auditTok     = "audit"
	askToken     = "ask"

	subjectRoot = "quintet.v1."
)

// MaxCollector is how long the name of a collecting process may be, in bytes.
const MaxCollector = 200

const maxSite = 64

// Names are the subjects, streams and buckets of one site. Everything that
// names one takes it from here: streams, permissions, questions.
type Names struct {
	site string // a token
}

// NamesOf returns the names of a site.
func NamesOf(site string) (Names, error) {
	if site == "" {
		return Names{}, errors.New("site: no name")
	}
	if len(site) > maxSite {
		return Names{}, fmt.Errorf("site %.20q…: name of %d bytes, at most %d", site, len(site), maxSite)
	}
	return Names{Token(site)}, nil
}

func (n Names) root() string { return subjectRoot + n.site + "." }

// Log is the stream of the site's log.
func (n Names) Log() string { return "quintet-" + n.site + "-log" }

// Incidents is the stream of the site's incidents.
func (n Names) Incidents() string { return "quintet-" + n.site + "-incidents" }

// Alerts is the stream of the alerts of the site's own rules.
func (n Names) Alerts() string { return "quintet-" + n.site + "-alerts" }

// Audit is the stream of what people changed.
func (n Names) Audit() string { return "quintet-" + n.site + "-audit" }

// AuditEntries is the subject of its entries.
func (n Names) AuditEntries() string { return n.root() + auditTok + ".web.change" }

// Bucket is the full name of a bucket of the site: Snapshots, Deliveries,
// Replicas …
func (n Names) Bucket(b string) string { return "quintet-" + n.site + "-" + b }

// The site's buckets.
const (
	Snapshots  = "snapshots"  // object store
	Deliveries = "deliveries" // key-value: what the notifier claimed and sent
	Notes      = "notes"      // key-value: people's feedback on incidents
	Silences   = "silences"   // key-value: what is muted, until it is forgotten
	Replicas   = "replicas"   // key-value: who runs, 30 s each
)

// All matches every subject of the site.
func (n Names) All() string { return n.root() + ">" }

// Of matches every subject that a collecting process may publish to.
func (n Names) Of(collector string) string { return n.root() + collectorToken(collector) + ".>" }

// Records matches every subject of a record that a collecting process states, and
// the questions; revisions, ticks and config records are not among them.
func (n Names) Records() string { return n.root() + "*.*" }

// Ticks is where ticks are published.
func (n Names) Ticks() string { return n.root() + ticksToken }

// Config is where config records are published.
func (n Names) Config() string { return n.root() + configToken }

// Revisions matches every revision of every incident.
func (n Names) Revisions() string { return n.revisions(incidentsTok) }

// AlertRevisions matches every revision of every alert.
func (n Names) AlertRevisions() string { return n.revisions(alertsTok) }

func (n Names) revisions(token string) string { return n.root() + token + ".*.*" }

// slotMark separates the number of a revision from that of its slot.
const slotMark = "-"

// revision is the subject of a revision. Slots other than 0 are for revisions whose
// earlier slots hold entries that no engine wrote.
func (n Names) revision(token, id string, number, slot int) string {
	subject := n.root() + token + "." + Token(id) + "." + strconv.Itoa(number)
	if slot > 0 {
		subject += slotMark + strconv.Itoa(slot)
	}
	return subject
}

// Questions matches every question to the site.
func (n Names) Questions() string { return n.root() + askToken + ".*" }

func (n Names) question(what string) string { return n.root() + askToken + "." + Token(what) }

// Record is the subject of a record of one kind by one collecting process;
// ticks and config records have no process.
func (n Names) Record(collector string, k telemetry.RecordKind) (string, error) {
	switch k {
	case telemetry.TickRecord:
		return n.Ticks(), nil
	case telemetry.ConfigRecord:
		return n.Config(), nil
	}
	last := kindToken(k)
	switch {
	case last == "":
		return "", fmt.Errorf("subject: %s has none", k)
	case collector == "":
		return "", fmt.Errorf("subject: %s record without a collector", k)
	case len(collector) > MaxCollector:
		return "", fmt.Errorf("subject: collector %.20q…: name of %d bytes, at most %d", collector, len(collector), MaxCollector)
	}
	return n.root() + collectorToken(collector) + "." + last, nil
}

// filter is the subject filter of one kind; an empty collector means all.
func (n Names) filter(collector string, k telemetry.RecordKind) string {
	switch {
	case k == telemetry.TickRecord:
		return n.Ticks()
	case k == telemetry.ConfigRecord:
		return n.Config()
	case collector == "":
		return n.root() + "*." + kindToken(k)
	}
	return n.root() + collectorToken(collector) + "." + kindToken(k)
}

// logSubjects lists the subjects of the log.
func (n Names) logSubjects() []string {
	out := make([]string, 0, len(recordKinds))
	for _, k := range recordKinds {
		out = append(out, n.filter("", k))
	}
	return out
}

// collector reads the collecting process out of a subject of the log; "" for
// ticks and config records.
func (n Names) collector(subject string) string {
	rest, ok := strings.CutPrefix(subject, n.root())
	if !ok {
		return ""
	}
	token, _, ok := strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	name, err := untoken(token)
	if err != nil {
		return token
	}
	return name
}

var recordKinds = [...]telemetry.RecordKind{telemetry.SchemaRecord, telemetry.FrameRecord, telemetry.EventRecord,
	telemetry.EdgeRecord, telemetry.ConfigRecord, telemetry.TickRecord}

func kindToken(k telemetry.RecordKind) string {
	switch k {
	case telemetry.SchemaRecord:
		return schemaToken
	case telemetry.FrameRecord:
		return framesToken
	case telemetry.EventRecord:
		return eventsToken
	case telemetry.EdgeRecord:
		return edgesToken
	}
	return ""
}

// Token makes any name a token that subjects, streams, buckets and files of NATS
// all accept: letters, digits and '-' are kept, every other byte is written "_" and
// two hexadecimal digits. Different names give different tokens; an empty name
// gives "_".
func Token(name string) string {
	if name == "" {
		return "_"
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func plain(c byte) bool {
	return c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// collectorToken is Token, except that a collector cannot be named like one of
// the site's own subjects.
func collectorToken(name string) string {
	switch name {
	case ticksToken, configToken, incidentsTok, alertsTok, auditTok, askToken:
		return fmt.Sprintf("_%02x", name[0]) + name[1:]
	}
	return Token(name)
}

// untoken reads the output of Token and collectorToken, and nothing else: one name
// has one token.
func untoken(token string) (string, error) {
	if token == "_" {
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		switch {
		case plain(c):
			b.WriteByte(c)
		case c == '_' && i+2 < len(token):
			v, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
			if err != nil {
				return "", fmt.Errorf("token %.40q: byte %d: not two hexadecimal digits", token, i)
			}
			b.WriteByte(byte(v))
			i += 2
		default:
			return "", fmt.Errorf("token %.40q: byte %d: %q", token, i, c)
		}
	}
	if name := b.String(); Token(name) == token || collectorToken(name) == token {
		return name, nil
	}
	return "", fmt.Errorf("token %.40q: not as it is written", token)
}
