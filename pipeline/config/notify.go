package config

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// Notify configures what is sent to which receiver, apart from the receivers
// themselves.
type Notify struct {
	Page    string // the page's address, where links lead; none where it is empty
	Inhibit bool   // what follows from another open incident is held back
	Flaps   Flaps
	Teams   []match.Owner
	Routes  []Route
	Grafana Grafana
}

// Grafana configures how Grafana signs the alerts that it sends here.
type Grafana struct {
	SecretFile string // unsigned ones are taken where it is empty
	Timestamp  string // the header of its timestamp; none where it is empty
}

// Flaps configures when flapping incidents are held back (package notify).
type Flaps struct {
	Window      time.Duration
	Start, Stop int
}

// Route is one entry below notify.routes.
type Route struct {
	Match     match.Matchers
	Receivers []string
	Continue  bool

	node *yaml.Node
}

// The kinds of receiver.
const (
	KindWebhook      = "webhook"
	KindAlertmanager = "alertmanager"
	KindSlack        = "slack"
	KindPagerDuty    = "pagerduty"
	KindCloudEvents  = "cloudevents"
)

// Receiver is one entry below notify.receivers. Which of the fields below Kind
// are stated depends on it; Kind is a webhook where it is empty.
type Receiver struct {
	Name       string
	Severities []string
	Risks      bool
	Alerts     bool // of our own rules
	Notes      bool
	Figures    bool // revisions that change nothing but figures, too

	Kind       string
	URL        string            // webhook, pagerduty, cloudevents
	URLs       []string          // alertmanager: every peer
	SecretFile string            // webhook: keys; slack: the address; pagerduty: the key; alertmanager, cloudevents: a token
	Timeout    time.Duration     // of one attempt; 0 is what the kind takes for right
	Headers    map[string]string // webhook, alertmanager, cloudevents
	Labels     map[string]string // alertmanager
	Resend     time.Duration     // alertmanager
	Mode       string            // cloudevents
	Source     string            // cloudevents
	Title      string            // templates: alertmanager, slack, pagerduty
	Text       string
	TLS        TLS
}

// TLS is the trust and the client certificate of a receiver's connection.
type TLS struct{ CA, Cert, Key, ServerName string }

// defaultNotify is the meaning of an empty file.
func defaultNotify() Notify {
	return Notify{Inhibit: true, Flaps: Flaps{Window: time.Hour, Start: 10, Stop: 2}}
}

// receiverName matches names that are valid in a delivery's id and key (package
// notify).
var receiverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (r *reader) notify(n *yaml.Node, f *File) {
	c := &f.Notify
	r.mapping(n, "notify: ",
		field{"page", func(n *yaml.Node) { r.webAddress(n, "notify: page", &c.Page) }},
		r.truth("inhibit", &c.Inhibit),
		field{"flaps", func(n *yaml.Node) { r.flaps(n, &c.Flaps) }},
		field{"teams", func(n *yaml.Node) { r.each(n, "notify: teams: ", func(item *yaml.Node) { r.team(item, c) }) }},
		field{"routes", func(n *yaml.Node) { r.each(n, "notify: routes: ", func(item *yaml.Node) { r.route(item, c) }) }},
		field{"grafana", func(n *yaml.Node) {
			r.mapping(n, "notify: grafana: ", r.text("secret_file", &c.Grafana.SecretFile), r.text("timestamp_header", &c.Grafana.Timestamp))
		}},
		field{"receivers", func(n *yaml.Node) {
			r.each(n, "notify: receivers: ", func(item *yaml.Node) { r.receiver(item, f) })
		}},
	)
	r.routesLead(n, f)
}

// webAddress reads an address of HTTP.
func (r *reader) webAddress(n *yaml.Node, key string, into *string) {
	if _, err := post.Address(n.Value); err != nil || n.Kind != yaml.ScalarNode {
		r.fail(n, "%s: want an address such as https://quintet.example.org", key)
		return
	}
	*into = n.Value
}

func (r *reader) flaps(n *yaml.Node, c *Flaps) {
	number := func(key string, into *int) field {
		return field{key, func(n *yaml.Node) {
			v, err := strconv.Atoi(n.Value)
			if err != nil || v < 0 || v > 100 || n.Kind != yaml.ScalarNode {
				r.fail(n, "notify: flaps: %s: want a number of changes from 0 to 100", key)
				return
			}
			*into = v
		}}
	}
	r.mapping(n, "notify: flaps: ", r.span("window", &c.Window), number("start", &c.Start), number("stop", &c.Stop))
	if c.Start != 0 && (c.Start < 2 || c.Stop >= c.Start || c.Window > 7*24*time.Hour) {
		r.fail(n, "notify: flaps: want a start of 2 or more (0: never), a smaller stop, and a window of at most a week")
	}
}

// matchers reads a list of conditions.
func (r *reader) matchers(in string, into *match.Matchers) field {
	return field{"match", func(n *yaml.Node) {
		r.each(n, in+"match: ", func(item *yaml.Node) {
			m, err := match.Parse(item.Value)
			switch {
			case item.Kind != yaml.ScalarNode:
				r.fail(item, "%smatch: want a text such as severity=critical", in)
			case err != nil:
				r.fail(item, "%smatch: %v", in, err)
			case len(*into) == match.MaxMatchers:
				r.fail(item, "%smatch: more than %d", in, match.MaxMatchers)
			default:
				*into = append(*into, m)
			}
		})
	}}
}

func (r *reader) team(n *yaml.Node, c *Notify) {
	var t match.Owner
	r.mapping(n, "notify: teams: ", r.text("name", &t.Name), r.matchers("notify: teams: ", &t.Match))
	switch {
	case !receiverName.MatchString(t.Name):
		r.fail(n, "notify: teams: name: want letters, digits, - and _, 64 at most")
	case slices.ContainsFunc(t.Match, func(m match.Matcher) bool { return m.Name == match.Team }):
		r.fail(n, "notify: teams: %s: a team cannot be matched by teams", t.Name)
	default:
		c.Teams = append(c.Teams, t)
	}
}

func (r *reader) route(n *yaml.Node, c *Notify) {
	x := Route{node: n}
	r.mapping(n, "notify: routes: ", r.matchers("notify: routes: ", &x.Match), r.texts("receivers", &x.Receivers), r.truth("continue", &x.Continue))
	c.Routes = append(c.Routes, x)
}

// routesLead checks the routes as a whole: which receivers they name, and what
// reaches no receiver.
func (r *reader) routesLead(n *yaml.Node, f *File) {
	routes := f.Notify.Routes
	named := map[string]bool{}
	for i, x := range routes {
		for _, name := range x.Receivers {
			named[name] = true
			if !slices.ContainsFunc(f.Receivers, func(o Receiver) bool { return o.Name == name }) {
				r.fail(x.node, "notify: routes: there is no receiver %q", name)
			}
		}
		if len(x.Match) == 0 && !x.Continue && i < len(routes)-1 {
			r.doubt(routes[i+1].node, "notify: routes: nothing comes so far: a route before it takes everything")
		}
	}
	if len(routes) == 0 {
		return
	}
	for _, o := range f.Receivers {
		if !named[o.Name] {
			r.doubt(n, "notify: routes: none leads to %s", o.Name)
		}
	}
	if len(routes[len(routes)-1].Match) > 0 {
		r.doubt(routes[len(routes)-1].node, "notify: routes: the last route has a matcher: what matches no route is not delivered")
	}
}

func (r *reader) receiver(n *yaml.Node, f *File) {
	c := Receiver{Headers: map[string]string{}, Labels: map[string]string{}}
	r.mapping(n, "notify: receivers: ", append(r.kinds(&c), r.text("name", &c.Name), r.texts("severities", &c.Severities), r.truth("risks", &c.Risks), r.truth("alerts", &c.Alerts), r.truth("notes", &c.Notes), r.truth("figures", &c.Figures))...)
	switch same := func(o Receiver) bool { return o.Name == c.Name }; {
	case !receiverName.MatchString(c.Name):
		r.fail(n, "notify: receivers: name: want letters, digits, - and _, 64 at most")
	case c.Kind == "":
		r.fail(n, "notify: receivers: %s: want one of webhook, alertmanager, slack, pagerduty and cloudevents", c.Name)
	case c.Kind == KindWebhook && c.URL == "":
		r.fail(n, "notify: receivers: %s: want a webhook with a url", c.Name)
	case c.Kind == KindCloudEvents && c.URL == "":
		r.fail(n, "notify: receivers: %s: want cloudevents with a url", c.Name)
	case c.Kind == KindAlertmanager && len(c.URLs) == 0:
		r.fail(n, "notify: receivers: %s: want an alertmanager with the urls of all peers", c.Name)
	case c.Kind == KindSlack && c.SecretFile == "":
		r.fail(n, "notify: receivers: %s: want a slack with a url_file", c.Name)
	case c.Kind == KindPagerDuty && c.SecretFile == "":
		r.fail(n, "notify: receivers: %s: want a pagerduty with a key_file", c.Name)
	case slices.ContainsFunc(f.Receivers, same):
		r.fail(n, "notify: receivers: %s: there are two of that name", c.Name)
	default:
		f.Receivers = append(f.Receivers, c)
	}
}

// kinds are the keys of which a receiver has one.
func (r *reader) kinds(c *Receiver) []field {
	url := field{"url", func(n *yaml.Node) { r.webAddress(n, "url", &c.URL) }}
	urls := field{"urls", func(n *yaml.Node) {
		r.each(n, "urls: ", func(item *yaml.Node) {
			var u string
			if r.webAddress(item, "urls", &u); u != "" {
				c.URLs = append(c.URLs, u)
			}
		})
	}}
	words := []field{r.template("title", &c.Title), r.template("text", &c.Text)}
	common := []field{r.span("timeout", &c.Timeout), r.tls(&c.TLS)}
	of := func(kind string, fields ...[]field) field {
		return field{kind, func(n *yaml.Node) {
			if c.Kind != "" {
				r.fail(n, "notify: receivers: %s and %s: one receiver is one of them", c.Kind, kind)
				return
			}
			c.Kind = kind
			r.mapping(n, kind+": ", slices.Concat(append(fields, common)...)...)
		}}
	}
	return []field{
		of(KindWebhook, []field{url, r.text("secret_file", &c.SecretFile), r.table(KindWebhook, "headers", c.Headers)}),
		of(KindAlertmanager, []field{urls, r.text("token_file", &c.SecretFile), r.span("resend", &c.Resend), r.table(KindAlertmanager, "labels", c.Labels), r.table(KindAlertmanager, "headers", c.Headers)}, words),
		of(KindSlack, []field{r.text("url_file", &c.SecretFile)}, words),
		of(KindPagerDuty, []field{url, r.text("key_file", &c.SecretFile)}, words),
		of(KindCloudEvents, []field{url, r.text("token_file", &c.SecretFile), r.text("mode", &c.Mode), r.text("source", &c.Source), r.table(KindCloudEvents, "headers", c.Headers)}),
	}
}

// table reads a mapping of words.
func (r *reader) table(in, key string, into map[string]string) field {
	return field{key, func(n *yaml.Node) {
		if err := n.Decode(&into); err != nil {
			r.fail(n, "%s: %s: want a mapping of words", in, key)
		}
	}}
}

func (r *reader) tls(c *TLS) field {
	return field{"tls", func(n *yaml.Node) {
		r.mapping(n, "tls: ", r.text("ca", &c.CA), r.text("cert", &c.Cert), r.text("key", &c.Key), r.text("server_name", &c.ServerName))
	}}
}

// template reads a template and tries it.
func (r *reader) template(key string, into *string) field {
	return field{key, func(n *yaml.Node) {
		c := text.Config{Title: n.Value}
		if key == "text" {
			c = text.Config{Body: n.Value}
		}
		if _, err := text.New(c); err != nil || n.Kind != yaml.ScalarNode {
			r.fail(n, "%s: %v", key, err)
			return
		}
		*into = n.Value
	}}
}
