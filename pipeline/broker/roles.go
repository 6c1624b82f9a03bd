package broker

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/role"
)

// Role is what a connection is for (package role).
type Role = role.Role

// The roles of package role.
const (
	All    = role.All
	Tick   = role.Tick
	Engine = role.Engine
	Store  = role.Store
	Notify = role.Notify
	Web    = role.Web
)

const collectPrefix = role.CollectPrefix

// Collect is the role of one collecting process.
func Collect(name string) Role { return role.Collect(name) }

// rights are subjects that a role may publish to, and subscribe to in addition to
// its own inbox.
type rights struct {
	publish   []string
	subscribe []string
	answers   bool     // answers questions, as a second user
	responds  bool     // may publish to the reply subject of what it received
	signs     []string // tags of the streams of revisions that it may write
}

func (r *rights) add(publish ...string) { r.publish = append(r.publish, publish...) }

// read allows to read a stream: its state, a message, a consumer of one's own.
func (r *rights) read(stream string) {
	r.add("$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>",
		"$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.MSG.NEXT."+stream+".>", "$JS.API.CONSUMER.INFO."+stream+".>",
		"$JS.API.CONSUMER.DELETE."+stream+".>", "$JS.FC."+stream+".>")
}

// look allows to read single messages of a stream.
func (r *rights) look(stream string) {
	r.add("$JS.API.STREAM.INFO."+stream, "$JS.API.DIRECT.GET."+stream)
}

func (r *rights) readKeys(bucket string) { r.read("KV_" + bucket) }

func (r *rights) keys(bucket string) {
	r.readKeys(bucket)
	r.add("$KV." + bucket + ".>")
}

func (r *rights) readObjects(bucket string) { r.read("OBJ_" + bucket) }

func (r *rights) objects(bucket string) {
	r.readObjects(bucket)
	r.add("$O."+bucket+".>", "$JS.API.STREAM.PURGE.OBJ_"+bucket)
}

// retryKeys are the keys by which retries are asked for (package notify).
const retryKeys = "retry.>"

// alertingKey is the key by which one of the stores raises alerts (package
// notify/raise).
const alertingKey = "alerting"

// rightsOf returns the rights of a role at a site.
func rightsOf(role Role, n bus.Names) (r rights, err error) {
	for rest, more := string(role), true; more; {
		one := rest
		if more = !strings.HasPrefix(rest, collectPrefix); more { // a name may hold commas
			one, rest, more = strings.Cut(rest, ",")
		}
		if err := r.grant(Role(one), n); err != nil {
			return rights{}, err
		}
	}
	return r, nil
}

// grant adds the rights of one role.
func (r *rights) grant(role Role, n bus.Names) error {
	snapshots, replicas, deliveries := n.Bucket(bus.Snapshots), n.Bucket(bus.Replicas), n.Bucket(bus.Deliveries)
	switch role {
	case All:
		r.add(n.All(), "$JS.API.>", "$JS.FC.>", "$KV.>", "$O.>")
		r.answers = true
		r.signs = append(r.signs, bus.WritesIncidentsTag, bus.WritesAlertsTag)
	case Tick:
		r.add(n.Ticks())
		r.read(n.Log())
	case Engine:
		r.add(n.Config(), n.Revisions())
		r.read(n.Log())
		r.read(n.Incidents())
		r.objects(snapshots)
		r.keys(replicas)
		r.answers = true
		r.signs = append(r.signs, bus.WritesIncidentsTag)
	case Store:
		r.add(n.AlertRevisions())
		r.signs = append(r.signs, bus.WritesAlertsTag)
		r.read(n.Log())
		r.read(n.Incidents())
		r.read(n.Alerts())
		r.readObjects(snapshots)
		r.readKeys(deliveries)
		r.add("$KV." + deliveries + "." + alertingKey)
	case Notify:
		r.add(n.Questions())
		r.add(n.AlertRevisions()) // that nobody evaluates rules
		r.signs = append(r.signs, bus.WritesAlertsTag)
		r.read(n.Incidents())
		r.read(n.Alerts())
		r.keys(deliveries)
		r.readKeys(n.Bucket(bus.Notes))
		r.readKeys(n.Bucket(bus.Silences))
	case Web:
		r.add(n.Questions())
		r.read(n.Log())
		r.read(n.Incidents())
		r.read(n.Alerts())
		r.readObjects(snapshots)
		r.readKeys(replicas)
		r.readKeys(deliveries)
		r.add("$KV." + deliveries + "." + retryKeys) // somebody asks that a dead one be tried again
		r.keys(n.Bucket(bus.Notes))
		r.keys(n.Bucket(bus.Silences))
		r.add(n.AuditEntries())
		r.look(n.Audit())
	default:
		return r.collect(role, n)
	}
	return nil
}

func (r *rights) collect(role Role, n bus.Names) error {
	name, ok := strings.CutPrefix(string(role), collectPrefix)
	if !ok {
		return fmt.Errorf("role %.60q: want collect, tick, engine, store, notify, web or all", role)
	}
	if name == "" || len(name) > bus.MaxCollector || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("role collect: name %.60q: want 1 to %d bytes without control characters", name, bus.MaxCollector)
	}
	r.add(n.Of(name))
	return nil
}

// users makes the users of a role, as a credentials file lists them: one for the role
// itself and, where the role answers questions, one for that.
func users(account nkeys.KeyPair, role Role, n bus.Names, t terms) ([]byte, error) {
	r, err := rightsOf(role, n)
	if err != nil {
		return nil, err
	}
	file, err := user(account, role, r, t)
	if err != nil || !r.answers {
		return file, err
	}
	answering, err := user(account, role+answersSuffix, rights{subscribe: []string{n.Questions()}, responds: true}, t)
	if err != nil {
		return nil, err
	}
	return append(append(file, '\n'), answering...), nil
}

// terms limit users: remote ones come over the listener, others only from this process.
type terms struct {
	remote  bool
	expires time.Time // zero is never
}

// answersSuffix ends the name of a user that only answers questions.
const answersSuffix = "/answers"

// user makes one user: a key of its own and a token that the account signs.
func user(account nkeys.KeyPair, role Role, r rights, t terms) ([]byte, error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}
	c := jwt.NewUserClaims(public)
	c.Name = string(role)
	inbox := "_INBOX." + public + ".>"
	c.Pub.Allow.Add(r.publish...)
	if len(r.publish) == 0 {
		c.Pub.Allow.Add(inbox) // none would mean all
	}
	c.Sub.Allow.Add(inbox)
	c.Sub.Allow.Add(r.subscribe...)
	c.Tags.Add(bus.SignsTag)
	c.Tags.Add(r.signs...)
	if r.responds {
		c.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
	}
	if role.CollectsOnly() {
		c.Limits.Subs = maxCollectorSubs
	}
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeInProcess)
	if t.remote {
		c.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard}
	}
	if !t.expires.IsZero() {
		c.Expires = t.expires.Unix()
	}
	token, err := c.Encode(account)
	if err != nil {
		return nil, err
	}
	seed, err := key.Seed()
	if err != nil {
		return nil, err
	}
	return credentials(token, seed), nil
}
