package gnmi

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of a profile.
const (
	maxProfileBytes = 1 << 20
	maxExtends      = 4
	leastEvery      = time.Second // SONiC refuses less, and design B6 asks for no more
	mostEvery       = time.Hour
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Profile defines what a vendor's paths mean and which of them are subscribed to.
// It does not change once made.
type Profile struct {
	Name string

	encodings []gpb.Encoding // in order of preference
	names     string         // which word names a port; "" its own
	ports     []template     // what a port is called; none is anything
	skip      []template     // ports that are none of the fabric's
	groups    []group
	root      *pattern
}

// group is the paths that are subscribed to in one RPC: a refusal by a device
// affects its own group only.
type group struct {
	name      string
	first     bool // before any other: what names things
	changes   bool // ON_CHANGE; otherwise SAMPLE
	redundant bool // leave out what has not changed
	every     time.Duration
	heartbeat time.Duration
	origin    string
	target    string
	paths     []*gpb.Path
}

// LoadProfile returns the profile of that name, or that of a file.
func LoadProfile(name string) (*Profile, error) {
	return loadProfile(name, 0)
}

func loadProfile(name string, depth int) (*Profile, error) {
	if depth > maxExtends {
		return nil, fmt.Errorf("profile %s: extends itself, or more than %d deep", name, maxExtends)
	}
	b, err := profiles.ReadFile("profiles/" + name + ".yaml")
	if err != nil {
		if !strings.ContainsAny(name, "./") {
			return nil, fmt.Errorf("profile %q: want one of %s, or the path of a file", name, strings.Join(ProfileNames(), ", "))
		}
		if b, err = entry.ReadFile(name, maxProfileBytes); err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
	}
	p, err := decodeProfile(b, depth)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	if p.Name == "" {
		p.Name = name
	}
	return p, nil
}

// ProfileNames lists the profiles that come with the program.
func ProfileNames() (out []string) {
	list, err := profiles.ReadDir("profiles")
	if err != nil {
		return nil
	}
	for _, f := range list {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// DecodeProfile reads a profile. The error joins a *entry.Fault for everything
// that is wrong, each with its line and column.
func DecodeProfile(b []byte) (*Profile, error) { return decodeProfile(b, 0) }

func decodeProfile(b []byte, depth int) (*Profile, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil {
		return nil, err
	}
	d := profileDecoder{Reader: entry.NewReader("profile"), p: &Profile{root: &pattern{}}, catalogue: telemetry.DefaultCatalogue(), depth: depth}
	d.Entry(&n,
		entry.Key{Name: "profile", Read: func(v *yaml.Node) { d.p.Name = d.Name(v, "profile", 100) }},
		entry.Key{Name: "extends", Read: d.extends},
		entry.Key{Name: "encodings", Read: func(v *yaml.Node) { d.p.encodings = nil; d.List(v, "encodings", d.encoding) }},
		entry.Key{Name: "names", Read: func(v *yaml.Node) { d.p.names = d.Name(v, "names", 40) }},
		entry.Key{Name: "ports", Read: func(v *yaml.Node) {
			d.List(v, "ports", func(x *yaml.Node) { d.p.ports = append(d.p.ports, d.template(x, "ports")) })
		}},
		entry.Key{Name: "skip", Read: func(v *yaml.Node) {
			d.List(v, "skip", func(x *yaml.Node) { d.p.skip = append(d.p.skip, d.template(x, "skip")) })
		}},
		entry.Key{Name: "subscribe", Read: func(v *yaml.Node) { d.List(v, "subscribe", d.group) }},
		entry.Key{Name: "rows", Read: func(v *yaml.Node) { d.List(v, "rows", d.row) }},
	)
	if err := d.Err(); err != nil {
		return nil, err
	}
	if len(d.p.groups) == 0 {
		return nil, fmt.Errorf("subscribe: nothing is subscribed to")
	}
	if len(d.p.encodings) == 0 {
		d.p.encodings = []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO, gpb.Encoding_JSON}
	}
	return d.p, nil
}

// profileDecoder reads one profile.
type profileDecoder struct {
	*entry.Reader
	p         *Profile
	catalogue *telemetry.Catalogue
	depth     int
}

// extends includes everything of another profile; it must come before what is
// added.
func (d *profileDecoder) extends(n *yaml.Node) {
	base, err := loadProfile(d.Text(n, "extends"), d.depth+1)
	switch {
	case err != nil:
		d.Fail(n, "extends: %v", err)
	case len(d.p.groups) > 0 || len(d.p.root.edges) > 0:
		d.Fail(n, "extends: must precede subscribe and rows")
	default:
		name := d.p.Name
		*d.p = *base
		d.p.Name = name
	}
}

func (d *profileDecoder) encoding(n *yaml.Node) {
	switch d.OneOf(n, "encodings", "json", "json_ietf", "proto") {
	case "json":
		d.p.encodings = append(d.p.encodings, gpb.Encoding_JSON)
	case "json_ietf":
		d.p.encodings = append(d.p.encodings, gpb.Encoding_JSON_IETF)
	case "proto":
		d.p.encodings = append(d.p.encodings, gpb.Encoding_PROTO)
	}
}

func (d *profileDecoder) template(n *yaml.Node, key string) template {
	t, err := parseTemplate(d.Text(n, key))
	if err != nil {
		d.Fail(n, "%s: %v", key, err)
	}
	return t
}

// group reads one RPC's subscription. One of a name that the profile extended
// has replaces it.
func (d *profileDecoder) group(n *yaml.Node) {
	g := group{}
	span := entry.Span{Least: leastEvery, Most: mostEvery}
	d.Entry(n,
		entry.Key{Name: "name", Read: func(v *yaml.Node) { g.name = d.Name(v, "name", 40) }},
		entry.Key{Name: "first", Read: func(v *yaml.Node) { g.first = d.Flag(v, "first") }},
		entry.Key{Name: "mode", Read: func(v *yaml.Node) { g.changes = d.OneOf(v, "mode", "sample", "on_change") == "on_change" }},
		entry.Key{Name: "suppress_redundant", Read: func(v *yaml.Node) { g.redundant = d.Flag(v, "suppress_redundant") }},
		entry.Key{Name: "every", Read: func(v *yaml.Node) { g.every = d.Duration(v, "every", span) }},
		entry.Key{Name: "heartbeat", Read: func(v *yaml.Node) { g.heartbeat = d.Duration(v, "heartbeat", span) }},
		entry.Key{Name: "origin", Read: func(v *yaml.Node) { g.origin = d.Name(v, "origin", 100) }},
		entry.Key{Name: "target", Read: func(v *yaml.Node) { g.target = d.Name(v, "target", 100) }},
		entry.Key{Name: "paths", Read: func(v *yaml.Node) {
			d.List(v, "paths", func(x *yaml.Node) {
				path, err := parsePath(d.Text(x, "paths"))
				if err != nil {
					d.Fail(x, "paths: %v", err)
				}
				g.paths = append(g.paths, path)
			})
		}},
	)
	if g.name == "" || len(g.paths) == 0 {
		d.Fail(n, "subscribe: want a name and paths")
	}
	if i := slices.IndexFunc(d.p.groups, func(o group) bool { return o.name == g.name }); i >= 0 {
		d.p.groups[i] = g
		return
	}
	d.p.groups = append(slices.Clip(d.p.groups), g)
}

// parsePath reads a path to subscribe to.
func parsePath(s string) (*gpb.Path, error) {
	parts, err := splitPath(s)
	if err != nil {
		return nil, err
	}
	p := &gpb.Path{}
	for _, x := range parts {
		e := &gpb.PathElem{Name: x.name}
		for _, k := range x.keys {
			if e.Key == nil {
				e.Key = map[string]string{}
			}
			e.Key[k.name] = k.value
		}
		p.Elem = append(p.Elem, e)
	}
	return p, nil
}

// row reads what the leaves below a path mean.
func (d *profileDecoder) row(n *yaml.Node) {
	var paths [][]step
	base := rule{kind: telemetry.Switch, scale: 1}
	var leaves *yaml.Node
	d.Entry(n,
		entry.Key{Name: "path", Read: func(v *yaml.Node) {
			read := func(x *yaml.Node) {
				steps, err := parsePattern(d.Text(x, "path"))
				if err != nil {
					d.Fail(x, "path: %v", err)
				}
				paths = append(paths, steps)
			}
			if v.Kind == yaml.SequenceNode {
				d.List(v, "path", read)
				return
			}
			read(v)
		}},
		entry.Key{Name: "entity", Read: func(v *yaml.Node) { d.entity(v, &base) }},
		entry.Key{Name: "queues", Read: func(v *yaml.Node) { base.queues = d.Flag(v, "queues") }},
		entry.Key{Name: "leaves", Read: func(v *yaml.Node) { leaves = v }},
	)
	if len(paths) == 0 || leaves == nil || leaves.Kind != yaml.MappingNode {
		d.Fail(n, "rows: want a path, and leaves with what each means")
		return
	}
	for _, steps := range paths {
		in := row{steps: steps, base: base}
		for i := range steps {
			in.variables = append(in.variables, steps[i].name.variables()...)
			for _, k := range steps[i].keys {
				in.variables = append(in.variables, k.value.variables()...)
			}
		}
		for i := 0; i+1 < len(leaves.Content); i += 2 {
			d.leaf(leaves.Content[i], leaves.Content[i+1], &in)
		}
	}
}

// row is what the leaves of one row share.
type row struct {
	steps     []step
	variables []string
	base      rule
}

// entity reads port:{port}, queue:{port}/{queue}, psu:{name} or switch.
func (d *profileDecoder) entity(n *yaml.Node, r *rule) {
	kind, name, inside := strings.Cut(d.Text(n, "entity"), ":")
	t, err := parseTemplate(name)
	switch {
	case err != nil:
		d.Fail(n, "entity: %v", err)
	case !slices.Contains(telemetry.Kinds(), telemetry.Kind(kind)):
		d.Fail(n, "entity: unknown kind %.40q", kind)
	case inside == (kind == string(telemetry.Switch)):
		d.Fail(n, "entity: want switch, or a kind and the name below the switch such as port:{port}")
	}
	r.kind, r.within = telemetry.Kind(kind), t
}

// leaf reads one leaf's meaning: a metric's name alone, "ignore", or keys.
func (d *profileDecoder) leaf(path, n *yaml.Node, in *row) {
	steps, err := parsePattern(path.Value)
	if err != nil {
		d.Fail(path, "leaves: %v", err)
		return
	}
	r := in.base
	var metric, as string
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "ignore":
		r.role = ignored
	case n.Kind == yaml.ScalarNode:
		metric = d.Name(n, "leaves", telemetry.MaxMetricBytes)
	default:
		d.meaning(n, &r, &metric, &as)
	}
	have := slices.Clone(in.variables)
	for i := range steps {
		have = append(have, steps[i].name.variables()...)
	}
	for _, v := range r.within.variables() {
		if !slices.Contains(have, v) {
			d.Fail(path, "leaves: {%s} of the entity is not in the path", v)
		}
	}
	if r.role != reading && r.role != ignored && !slices.Contains(have, "port") {
		d.Fail(path, "leaves: {port} is not in the path")
	}
	if r.role == reading {
		known, _ := d.catalogue.Lookup(telemetry.MetricName(metric))
		if err := r.settle(telemetry.MetricName(metric), known, as); err != nil {
			d.Fail(n, "leaves: %v", err)
		}
		if known != nil && !slices.Contains(known.Kinds, r.kind) {
			d.Fail(n, "leaves: %s is not of a %s", metric, r.kind)
		}
	}
	at := d.p.root.grow(append(slices.Clone(in.steps), steps...))
	// A later statement about the same leaf and kind takes precedence: a profile
	// that extends another corrects it.
	at.rules = slices.DeleteFunc(at.rules, func(o *rule) bool { return o.kind == r.kind && o.field == r.field })
	at.rules = append(at.rules, &r)
}

// neighbourWords are the fields of a neighbour.
var neighbourWords = []string{"system", "port", "description", "bridge", "router"}

// meaning reads a leaf's keys.
func (d *profileDecoder) meaning(n *yaml.Node, r *rule, metric, as *string) {
	d.Entry(n,
		entry.Key{Name: "metric", Read: func(v *yaml.Node) { *metric = d.Name(v, "metric", telemetry.MaxMetricBytes) }},
		entry.Key{Name: "as", Read: func(v *yaml.Node) { *as = d.OneOf(v, "as", "uint", "decimal", "float") }},
		entry.Key{Name: "scale", Read: func(v *yaml.Node) { r.scale = d.number(v, "scale") }},
		entry.Key{Name: "fold", Read: func(v *yaml.Node) {
			r.fold = map[string]fold{"sum": sum, "most": most, "mean": mean}[d.OneOf(v, "fold", "sum", "most", "mean")]
		}},
		entry.Key{Name: "ieeefloat32", Read: func(v *yaml.Node) { r.ieee = d.Flag(v, "ieeefloat32") }},
		entry.Key{Name: "other", Read: func(v *yaml.Node) { f := d.number(v, "other"); r.other = &f }},
		entry.Key{Name: "words", Read: func(v *yaml.Node) { r.words = d.words(v) }},
		entry.Key{Name: "name", Read: func(v *yaml.Node) { r.role, r.field = portName, d.Name(v, "name", 40) }},
		entry.Key{Name: "neighbour", Read: func(v *yaml.Node) {
			r.role, r.field = neighbour, d.OneOf(v, "neighbour", neighbourWords...)
		}},
	)
	if r.role == reading && *metric == "" {
		d.Fail(n, "leaves: want metric, name or neighbour")
	}
	if r.scale == 0 {
		d.Fail(n, "scale: zero")
	}
}

func (d *profileDecoder) number(n *yaml.Node, key string) float64 {
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || f-f != 0 {
		d.Fail(n, "%s: want a number, found %s", key, entry.KindOf(n))
		return 1
	}
	return f
}

func (d *profileDecoder) words(n *yaml.Node) map[string]float64 {
	out := map[string]float64{}
	if n.Kind != yaml.MappingNode {
		d.Fail(n, "words: want words and their numbers, found %s", entry.KindOf(n))
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = d.number(n.Content[i+1], "words")
	}
	return out
}
