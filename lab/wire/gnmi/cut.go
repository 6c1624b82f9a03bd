package gnmi

import (
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/quintet-dc/quintet/telemetry"
)

// cut gathers leaves into notifications: one for each container.
type cut struct {
	enc      gpb.Encoding
	target   string
	subtrees bool // containers are one JSON value where the encoding is JSON
	now      time.Time

	out    []*gpb.Notification
	prefix []elem
	have   bool
	tree   object
}

// add appends a leaf's value.
func (c *cut) add(l *leaf, v value, at telemetry.Time) {
	n := c.notification(l, at)
	if c.subtrees && c.enc != gpb.Encoding_PROTO && v.kind != document {
		c.tree.put(l.path, v.json(c.enc == gpb.Encoding_JSON_IETF))
		return
	}
	n.Update = append(n.Update, &gpb.Update{Path: pathOf(l.path), Val: v.typed(c.enc)})
}

// remove appends that a leaf is gone.
func (c *cut) remove(l *leaf) {
	n := c.notification(l, 0)
	n.Delete = append(n.Delete, pathOf(l.path))
}

// notification returns the one of a leaf's container.
func (c *cut) notification(l *leaf, at telemetry.Time) *gpb.Notification {
	if !c.have || !same(c.prefix, l.prefix) {
		c.close()
		p := pathOf(l.prefix)
		p.Target = c.target
		c.out = append(c.out, &gpb.Notification{Prefix: p})
		c.prefix, c.have = l.prefix, true
	}
	n := c.out[len(c.out)-1]
	n.Timestamp = max(n.Timestamp, int64(at))
	return n
}

// fresh is how old a reading may be for its own time to be reported. A switch reads
// its slow sensors itself and reports the current value with its own time.
const fresh = 2 * time.Second

// close ends a container.
func (c *cut) close() {
	if len(c.out) == 0 {
		return
	}
	n := c.out[len(c.out)-1]
	if c.now.Sub(time.Unix(0, n.Timestamp)) > fresh {
		n.Timestamp = c.now.UnixNano()
	}
	if len(c.tree.names) > 0 {
		v := value{kind: document, s: c.tree.json()}
		n.Update = append(n.Update, &gpb.Update{Path: &gpb.Path{}, Val: v.typed(c.enc)})
		c.tree = object{}
	}
}

// done returns the notifications.
func (c *cut) done() []*gpb.Notification {
	c.close()
	return c.out
}

func same(a, b []elem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// object is a JSON object that grows leaf by leaf.
type object struct {
	names   []string
	members map[string]*object
	text    string
}

func (o *object) put(path []elem, text string) {
	if len(path) == 0 {
		o.text = text
		return
	}
	m := o.members[path[0].name]
	if m == nil {
		m = &object{}
		if o.members == nil {
			o.members = map[string]*object{}
		}
		o.members[path[0].name] = m
		o.names = append(o.names, path[0].name)
	}
	m.put(path[1:], text)
}

func (o *object) json() string {
	if len(o.names) == 0 {
		return o.text
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(n) + ":" + o.members[n].json())
	}
	b.WriteByte('}')
	return b.String()
}
