package sysfs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
	"github.com/quintet-dc/quintet/telemetry"
)

// plan is the result of one look at the tree: what is read, and where each number
// goes. It keeps the files open.
type plan struct {
	devices  []*device
	groups   []*group
	quick    []*table // of counters
	slow     []*table // of settings
	edges    []*telemetry.Edge
	settings []*setting
	fixed    []*constant
	places   map[string]telemetry.Entity // of ports, by identity
	shape    string                      // of the tree, to notice that it changed
	dropped  map[collectors.Reason]int   // what the plan itself leaves out
}

// constant is a number that was already read while the plan was made.
type constant struct {
	cells []cell
	value uint64
}

func (p *plan) close() {
	for _, g := range p.groups {
		g.close()
	}
}

// planner makes a plan.
type planner struct {
	*plan
	cfg      Config
	tree     tree
	stats    *ethtool.Source // nil: none
	words    *vocabulary
	memories *memories
	node     telemetry.Entity
	claims   []claim                     // of counters
	asides   []claim                     // of settings
	foreign  map[telemetry.Series]string // what was named for its file, and the file
	stated   map[string]bool             // edges
	behind   map[string]bool             // interfaces that belong to a port
	files    int
}

// Parts of the source that are not named for a driver.
const (
	settingsPart = "settings"
	queuesSuffix = "-queues"
)

// maxFiles bounds the files that are kept open.
const maxFiles = 1 << 14

// newPlan looks at the tree.
func (r *reader) newPlan() (*plan, error) {
	devices, over, err := scan(r.tree, r.words)
	if err != nil {
		return nil, err
	}
	b := &planner{
		plan: &plan{devices: devices, places: map[string]telemetry.Entity{}, dropped: map[collectors.Reason]int{}},
		cfg:  r.cfg, tree: r.tree, stats: r.stats, words: r.words, memories: r.memories,
		node:    telemetry.Entity{Kind: telemetry.Node, Name: collectors.Part(r.cfg.Node)},
		foreign: map[telemetry.Series]string{}, stated: map[string]bool{}, behind: map[string]bool{},
	}
	b.drop(collectors.OverLimit, over)
	b.shape = shapeOf(r.tree, devices)
	for _, d := range devices {
		b.device(d)
	}
	b.strangers()
	source := telemetry.Source{Collector: sourceName, Target: r.cfg.Node}
	b.quick, over = layOut(settle(b.claims), source, r.cfg.Every)
	b.drop(collectors.OverLimit, over)
	b.slow, over = layOut(settle(b.asides), source, r.settingsEvery())
	b.drop(collectors.OverLimit, over)
	b.open()
	return b.plan, nil
}

func (b *planner) drop(why collectors.Reason, n int) {
	if n > 0 {
		b.dropped[why] += n
	}
}

// device claims what a device has.
func (b *planner) device(d *device) {
	own := telemetry.Entity{Kind: telemetry.NIC, Name: b.node.Name + "/" + part(d.name)}
	b.nest(b.node, own, d.attrs())
	b.locality(d, own)
	b.settingsOfDevice(d, own)
	b.moduleOf(d, own)
	single := len(d.ports) == 1 && d.ports[0].number == 1
	if files, err := b.tree.list(path.Join(d.dir, hardwareDir)); err == nil {
		g := b.group()
		for _, f := range b.bounded(files) {
			if b.atEveryPort(d, f) {
				b.drop(collectors.Duplicate, 1)
				continue
			}
			b.file(g, where{d, nil, own, hardwareDir}, f)
		}
	}
	for _, p := range d.ports {
		e := own
		if !single {
			e = telemetry.Entity{Kind: telemetry.NIC, Name: fmt.Sprintf("%s:%d", own.Name, p.number)}
			b.nest(own, e, p.attrs())
		}
		b.port(p, e)
	}
}

// port claims what a port has.
func (b *planner) port(p *port, e telemetry.Entity) {
	b.places[p.identity()] = e
	b.status(p, e)
	for _, dir := range []string{countersExtDir, countersDir, hardwareDir} {
		files, err := b.tree.list(path.Join(p.dir, dir))
		if err != nil {
			continue
		}
		g := b.group()
		for _, f := range b.bounded(files) {
			b.file(g, where{p.device, p, e, dir}, f)
		}
		if dir == countersDir {
			g.markNarrow(files)
		}
	}
	for _, n := range p.behind {
		b.behind[n.name] = true
		own := e
		if len(p.behind) > 1 {
			own = telemetry.Entity{Kind: telemetry.NIC, Name: b.node.Name + "/" + part(n.name)}
			b.nest(e, own, []telemetry.Attr{{Key: "netdev", Value: n.name}})
		}
		b.pauseMask(n, own, b.statistics(p, n, own))
		b.settingsOfInterface(n, own)
	}
	b.settingsOfPort(p, e)
}

// strangers states the configuration of interfaces that nothing ties to a
// device, where they are configured for RDMA: a recorded tree may lack the links.
func (b *planner) strangers() {
	names, err := b.tree.list("class/net")
	if err != nil {
		return
	}
	for _, n := range names[:min(len(names), maxEntries)] {
		dir := path.Join("class/net", n)
		if b.behind[n] || !isDir(b.tree, path.Join(dir, "ecn")) && !isDir(b.tree, path.Join(dir, "qos")) {
			continue
		}
		e := telemetry.Entity{Kind: telemetry.NIC, Name: b.node.Name + "/" + part(n)}
		b.nest(b.node, e, []telemetry.Attr{{Key: "netdev", Value: printable(n, maxValue)}})
		b.settingsOfInterface(netdev{name: n, dir: dir}, e)
	}
}

// atEveryPort reports whether every port has a file of the same name: irdma and
// i40iw publish the same numbers at both levels.
func (b *planner) atEveryPort(d *device, file string) bool {
	for _, p := range d.ports {
		files, err := b.tree.list(path.Join(p.dir, hardwareDir))
		if err != nil || !slices.Contains(files, file) {
			return false
		}
	}
	return len(d.ports) > 0
}

// bounded cuts a listing that is longer than any driver's, and sorts names that are
// safe as they are first: theirs are the metrics of the same name.
func (b *planner) bounded(files []string) []string {
	if len(files) > maxEntries {
		b.drop(collectors.OverLimit, len(files)-maxEntries)
		files = files[:maxEntries]
	}
	slices.SortStableFunc(files, func(a, b string) int { return int(bit(safe(a) != a)) - int(bit(safe(b) != b)) })
	return files
}

// where is the owner of a file: port is nil at device level.
type where struct {
	device *device
	port   *port
	entity telemetry.Entity
	dir    string
}

func (w where) folder() string {
	if w.port == nil {
		return path.Join(w.device.dir, w.dir)
	}
	return path.Join(w.port.dir, w.dir)
}

// file claims the series of a counter's file.
func (b *planner) file(g *group, w where, name string) {
	var means []meaning
	if w.dir == hardwareDir {
		means = b.words.hardwareFile(w.device.driver, name, w.port == nil)
	} else {
		means = b.words.pma(w.dir, name, w.port.transport)
	}
	if len(means) == 0 {
		means = []meaning{b.unknown(w, name)}
	}
	f := &file{name: path.Join(w.folder(), name), lifespan: name == lifespanFile && w.dir == hardwareDir}
	g.files = append(g.files, f)
	for _, m := range means {
		b.claim(w.device, w.entity, m, &f.cells)
	}
}

// unknown names an unknown file, distinct from others whose safe name is the same.
func (b *planner) unknown(w where, name string) meaning {
	return b.named(w.entity, foreign(w.device.part(), name), name)
}

func (b *planner) named(e telemetry.Entity, m meaning, original string) meaning {
	base := m.metric
	for n := 2; ; n++ {
		s := telemetry.Series{Entity: e, Metric: m.metric}
		if who, ok := b.foreign[s]; !ok || who == original {
			b.foreign[s] = original
			return m
		}
		m.metric = telemetry.MetricName(fmt.Sprintf("%s_%d", base, n))
	}
}

func (b *planner) claim(d *device, e telemetry.Entity, m meaning, cells *[]cell) {
	part := d.part()
	if e.Kind == telemetry.Queue {
		part += queuesSuffix
	}
	b.claims = append(b.claims, claim{part, e, m, cells})
}

// aside claims a setting's place.
func (b *planner) aside(e telemetry.Entity, metric telemetry.MetricName, j join, cells *[]cell) {
	part := settingsPart
	if e.Kind == telemetry.Queue {
		part += queuesSuffix
	}
	b.asides = append(b.asides, claim{part, e, meaning{metric: metric, scale: 1, join: j}, cells})
}

// part is what a device's sources are named.
func (d *device) part() string {
	if d.driver == "" {
		return "rdma"
	}
	return safe(d.driver)
}

// nest states that one entity contains another.
func (b *planner) nest(outer, inner telemetry.Entity, attrs []telemetry.Attr) {
	b.edge(&telemetry.Edge{From: outer, To: inner, Relation: telemetry.Contains, Source: sourceName, Attrs: attrs})
}

func (b *planner) edge(e *telemetry.Edge) {
	if id := edgeID(e); !b.stated[id] {
		b.stated[id] = true
		b.edges = append(b.edges, e)
	}
}

// edgeID identifies an edge among those that this collector makes.
func edgeID(e *telemetry.Edge) string {
	return e.From.String() + " " + string(e.Relation) + " " + e.To.String()
}

// locality states the NUMA node of a device: what else is near it is a member
// of the same group.
func (b *planner) locality(d *device, e telemetry.Entity) {
	text, err := readText(b.tree, path.Join(d.bus, "numa_node"))
	if err != nil {
		return
	}
	if n, why := count([]byte(text)); why == good && n < 1<<16 { // -1 is not known
		g := telemetry.Entity{Kind: telemetry.Group, Name: fmt.Sprintf("numa/%s/%d", b.node.Name, n)}
		b.edge(&telemetry.Edge{From: e, To: g, Relation: telemetry.Member, Source: sourceName})
	}
}

// queue returns the entity of a priority, and states that e contains it.
func (b *planner) queue(e telemetry.Entity, priority int) telemetry.Entity {
	q := telemetry.Entity{Kind: telemetry.Queue, Name: fmt.Sprintf("%s/%d", e.Name, priority)}
	b.nest(e, q, nil)
	return q
}

// group starts a group of files that are read together.
func (b *planner) group() *group {
	g := &group{}
	b.groups = append(b.groups, g)
	return g
}

// open opens the files that have a place. A file that has none duplicates another.
func (b *planner) open() {
	for _, g := range b.groups {
		kept := g.files[:0]
		for _, f := range g.files {
			switch {
			case len(f.cells) == 0:
				b.drop(collectors.Duplicate, 1)
			case b.files >= maxFiles:
				b.drop(collectors.OverLimit, 1)
			default:
				b.files++
				kept = append(kept, f)
			}
		}
		g.files = kept
		if g.stats != nil {
			b.drop(collectors.Duplicate, g.stats.settle())
		}
	}
}

// part writes a name from the tree as a part of an entity's name.
func part(s string) string {
	const most = 64 // the kernel's own bound of a device's name
	return collectors.Part(strings.ToValidUTF8(s[:min(len(s), most)], "_"))
}

// shapeOf writes down everything of the tree whose change makes a plan wrong:
// devices, ports, files of counters, interfaces.
func shapeOf(t tree, devices []*device) string {
	var b strings.Builder
	for _, d := range devices {
		dirs := []string{path.Join(d.dir, hardwareDir), path.Join(d.bus, "net"), path.Join(d.dir, "ports")}
		for _, p := range d.ports {
			dirs = append(dirs, path.Join(p.dir, countersDir), path.Join(p.dir, hardwareDir))
		}
		fmt.Fprintf(&b, "%s\n", d.dir)
		for _, dir := range dirs {
			names, err := t.list(dir)
			fmt.Fprintf(&b, " %d %t %x\n", len(names), err == nil, hash(names))
		}
	}
	return b.String()
}

// hash is FNV-1a over names.
func hash(names []string) (h uint64) {
	h = 14695981039346656037
	for _, n := range names {
		for i := range len(n) {
			h = (h ^ uint64(n[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return h
}

// settingsEvery is how often configuration is read, if counters are not read
// more rarely.
const settingsEvery = 10 * time.Second
