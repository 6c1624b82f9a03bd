package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Time(1e9)

func ent(s string) telemetry.Entity {
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		panic(err)
	}
	return e
}

// edge reads "from relation to", then options: src=, start=, end=, recv= in
// seconds, and anything else as an attribute.
func mk(s string) telemetry.Edge {
	w := strings.Fields(s)
	e := telemetry.Edge{From: ent(w[0]), Relation: telemetry.Relation(w[1]), To: ent(w[2]), Source: "lldp"}
	for _, o := range w[3:] {
		k, v, _ := strings.Cut(o, "=")
		var n int64
		fmt.Sscan(v, &n)
		switch k {
		case "src":
			e.Source = v
		case "start":
			e.Start = telemetry.Time(n) * second
		case "end":
			e.End = telemetry.Time(n) * second
		case "recv":
			e.Received = telemetry.Time(n) * second
		default:
			e.Attrs = append(e.Attrs, telemetry.Attr{Key: k, Value: v})
		}
	}
	return e
}

// site builds a graph from edges, advanced to at seconds.
func site(at int, edges ...string) *Graph {
	g := New()
	for _, s := range edges {
		e := mk(s)
		g.Add(&e)
	}
	g.Advance(telemetry.Time(at) * second)
	return g
}

func names(es []telemetry.Entity) string {
	var out []string
	for _, e := range es {
		out = append(out, e.String())
	}
	return strings.Join(out, " ")
}

func TestAnEdgeHoldsInItsInterval(t *testing.T) {
	g := New()
	e := mk("nic:h0/n0 connects port:s/p1 start=10 end=20 speed_bits_per_second=1e11")
	g.Add(&e)
	for _, c := range []struct {
		at   int
		want bool
	}{{9, false}, {10, true}, {19, true}, {20, false}, {5000, false}} {
		g.Advance(telemetry.Time(c.at) * second)
		peer, speed, ok := g.Peer(ent("port:s/p1"))
		if ok != c.want || ok && (peer != ent("nic:h0/n0") || speed != 1e11) {
			t.Errorf("at %d s: peer %v %g %v, want %v", c.at, peer, speed, ok, c.want)
		}
	}
	if len(g.ids) != 0 || len(g.keys) != 0 {
		t.Errorf("an edge long ended is still held: %d entities, %d edges", len(g.ids), len(g.keys))
	}
}

func TestAStatementCountsFromItsReceipt(t *testing.T) {
	g := site(29, "rack:r contains node:a recv=30")
	if _, ok := g.Container(ent("node:a")); ok {
		t.Error("known before it was received")
	}
	g.Advance(30 * second)
	if c, _ := g.Container(ent("node:a")); c != ent("rack:r") {
		t.Errorf("container %v", c)
	}
}

func TestNamesImplyContainment(t *testing.T) {
	g := New()
	for _, s := range []string{"gpu:a/0", "nic:a/n", "nvlink:a/0/7", "rank:j/3", "port:s/p1", "queue:s/p1/3", "queue:a/n/3"} {
		g.Know(ent(s))
	}
	g.Advance(1)
	for in, want := range map[string]string{
		"gpu:a/0": "node:a", "nic:a/n": "node:a", "nvlink:a/0/7": "gpu:a/0", "rank:j/3": "job:j",
		"port:s/p1": "switch:s", "queue:s/p1/3": "port:s/p1", "queue:a/n/3": "nic:a/n", "queue:x/y/1": "port:x/y",
	} {
		if c, ok := g.Container(ent(in)); !ok || c != ent(want) {
			t.Errorf("%s lies in %v, want %s", in, c, want)
		}
	}
	if got := names(g.Contents(ent("node:a"))); got != "gpu:a/0 nic:a/n" {
		t.Errorf("node:a holds %s", got)
	}
	g.Forget(ent("gpu:a/0"))
	g.Forget(ent("nvlink:a/0/7"))
	g.Advance(2)
	if got := names(g.Contents(ent("node:a"))); got != "nic:a/n" {
		t.Errorf("after forgetting, node:a holds %s", got)
	}
}

func TestAStatedContainerPrevailsOverTheName(t *testing.T) {
	g := site(1, "node:b contains nic:a/n0", "gpu:a/0 pairs nic:a/n0")
	if c, _ := g.Container(ent("nic:a/n0")); c != ent("node:b") {
		t.Errorf("container %v", c)
	}
	if got := names(g.Contents(ent("node:a"))); got != "gpu:a/0" {
		t.Errorf("node:a holds %s", got)
	}
}

func TestAContradictionIsDecidedAndReported(t *testing.T) {
	for _, c := range []struct {
		why, a, b, fault, peer string
	}{
		{"a higher rank wins", "port:s/1 connects port:x/1 src=lldp", "port:s/1 connects port:y/1 src=file start=5", "two-peers", "port:x/1"},
		{"the unknown is lowest", "port:s/1 connects port:x/1 src=odd start=9", "port:s/1 connects port:y/1 src=file", "two-peers", "port:y/1"},
		{"the later start wins", "port:s/1 connects port:x/1 start=3", "port:s/1 connects port:y/1 start=5", "two-peers", "port:y/1"},
		{"the later receipt wins", "port:s/1 connects port:x/1 recv=7", "port:s/1 connects port:y/1 recv=6", "two-peers", "port:x/1"},
	} {
		g := site(10, c.a, c.b)
		if p, _, _ := g.Peer(ent("port:s/1")); p != ent(c.peer) {
			t.Errorf("%s: peer %v, want %s", c.why, p, c.peer)
		}
		cs := g.Contradictions()
		if len(cs) != 1 || string(cs[0].Fault) != c.fault || cs[0].Entity != ent("port:s/1") || cs[0].Kept.To != ent(c.peer) {
			t.Errorf("%s: reported %+v", c.why, cs)
		}
	}
}

func TestTwoRenewingSourcesDoNotTakeTurns(t *testing.T) {
	g := New()
	for at := 0; at < 3000; at += 100 {
		for i, s := range []string{"port:s/1 connects port:x/1 src=lldp", "port:s/1 connects port:y/1 src=sm"} {
			e := mk(s)
			e.Received = telemetry.Time(at+1+50*i) * second
			g.Add(&e)
			g.Advance(e.Received)
			if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:y/1") && at+i > 0 {
				t.Fatalf("at %v: peer %v", e.Received, p)
			}
		}
	}
	if g.Generation() != 2 {
		t.Errorf("generation %d after renewals", g.Generation())
	}
}

func TestANICLiesInOneNode(t *testing.T) {
	g := site(1, "node:a contains nic:a/n src=file", "node:b contains nic:a/n src=redfish", "rack:r contains nic:a/n src=file")
	if c, _ := g.Container(ent("nic:a/n")); c != ent("node:b") {
		t.Errorf("container %v", c)
	}
	cs := g.Contradictions()
	if len(cs) != 1 || cs[0].Fault != FaultTwoContainers || cs[0].Lost.From != ent("node:a") || cs[0].Kept.From != ent("node:b") {
		t.Errorf("reported %+v", cs)
	}
	if got := names(g.Contents(ent("rack:r"))); got != "nic:a/n" {
		t.Errorf("rack:r holds %s", got)
	}
}

func TestALoopLosesItsWeakestEdge(t *testing.T) {
	g := site(1, "rack:a contains rack:b src=redfish", "rack:b contains rack:c src=redfish", "rack:c contains rack:a src=file")
	cs := g.Contradictions()
	if len(cs) != 1 || cs[0].Fault != FaultLoop || cs[0].Lost.From != ent("rack:c") {
		t.Errorf("reported %+v", cs)
	}
	if _, ok := g.Container(ent("rack:a")); ok {
		t.Error("rack:a lies in something")
	}
	e := mk("rack:a contains rack:b src=redfish end=2 recv=2")
	g.Add(&e)
	g.Advance(2 * second)
	if c, _ := g.Container(ent("rack:a")); c != ent("rack:c") || len(g.Contradictions()) != 0 {
		t.Errorf("with the loop open rack:a lies in %v; %+v", c, g.Contradictions())
	}
}

func TestANameDoesNotCloseALoop(t *testing.T) {
	g := site(1, "nic:a/n contains node:a")
	if c, ok := g.Container(ent("nic:a/n")); ok {
		t.Errorf("nic lies in %v", c)
	}
	if c, _ := g.Container(ent("node:a")); c != ent("nic:a/n") {
		t.Errorf("node lies in %v", c)
	}
}

func TestStatementsWrongByThemselvesAreReported(t *testing.T) {
	g := New()
	for s, want := range map[string]Outcome{
		"port:s/1 connects port:s/1":            SelfLoop,
		"rack:r contains node:a start=9 end=3":  EndBeforeStart,
		"rack:r surrounds node:a":               Invalid,
		"rack:r contains node:b":                Accepted,
		"rack:r contains node:c start=5 end=5":  Accepted,
		"rack:r contains node:d start=-5 end=5": Invalid,
	} {
		e := mk(s)
		if o := g.Add(&e); o != want {
			t.Errorf("%s: %v, want %v", s, o, want)
		}
	}
	e := telemetry.Edge{From: telemetry.Entity{Kind: "rack", Name: "a b"}, To: ent("node:a"), Relation: telemetry.Contains}
	if o := g.Add(&e); o != Invalid {
		t.Errorf("a name with a space: %v", o)
	}
	g.Advance(10 * second)
	cs := g.Contradictions()
	if len(cs) != 2 || cs[0].Fault != FaultEndsBeforeStart || cs[1].Fault != FaultSelfLoop {
		t.Errorf("reported %+v", cs)
	}
	if got := names(g.Contents(ent("rack:r"))); got != "node:b" {
		t.Errorf("rack:r holds %s", got)
	}
}

func TestAnEdgeNotRenewedIsStaleAndStillAnswers(t *testing.T) {
	g := site(100, "port:s/1 connects port:x/1 recv=100", "rack:r contains switch:s src=file")
	g.Advance(telemetry.Time(100+15*60)*second - 1)
	if n := len(g.StaleEdges()); n != 0 {
		t.Errorf("%d stale too early", n)
	}
	g.Advance(telemetry.Time(100+15*60) * second)
	stale := g.StaleEdges()
	if len(stale) != 1 || stale[0].From != ent("port:s/1") {
		t.Errorf("stale %+v", stale)
	}
	if _, _, ok := g.Peer(ent("port:x/1")); !ok {
		t.Error("a stale edge no longer answers")
	}
	e := mk("port:s/1 connects port:x/1 recv=1001")
	g.Add(&e)
	g.Advance(1001 * second)
	if n := len(g.StaleEdges()); n != 0 {
		t.Errorf("%d stale after a renewal", n)
	}
}

func TestAFreshEdgePrevailsOverAStaleOne(t *testing.T) {
	g := site(1, "port:s/1 connects port:x/1 src=lldp start=1 recv=1", "port:s/1 connects port:y/1 src=sm recv=1")
	if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:x/1") {
		t.Errorf("while both are fresh: peer %v", p)
	}
	e := mk("port:s/1 connects port:y/1 src=sm recv=800")
	g.Add(&e)
	g.Advance(1000 * second)
	if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:y/1") {
		t.Errorf("when one is stale: peer %v", p)
	}
}

func TestAStaleEdgeStillEnds(t *testing.T) {
	g := site(1, "port:s/1 connects port:x/1 recv=1 end=2000")
	g.Advance(1000 * second)
	if len(g.StaleEdges()) != 1 {
		t.Error("not stale")
	}
	g.Advance(2000 * second)
	if _, _, ok := g.Peer(ent("port:s/1")); ok || len(g.StaleEdges()) != 0 {
		t.Error("it outlived its end")
	}
}

// TestALateOldStatementCounts : the first receipt decides, also when it comes
// to be known last, and also after a restore.
func TestALateOldStatementCounts(t *testing.T) {
	g := site(20, "port:s/1 connects port:x/1 src=lldp recv=10", "port:s/1 connects port:y/1 src=sm recv=20")
	if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:y/1") {
		t.Errorf("peer %v", p)
	}
	e := mk("port:s/1 connects port:y/1 src=sm recv=5")
	g.Add(&e)
	g.Advance(30 * second)
	w := snapshot.NewWriter()
	g.Snapshot(w)
	r := New()
	r.Snapshot(snapshot.NewReader(w.Data()))
	for _, g := range []*Graph{g, r} {
		if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:x/1") {
			t.Errorf("peer %v", p)
		}
	}
}

func TestASourceThatChangedItsMindReplacesItsStaleEdge(t *testing.T) {
	g := site(1, "port:s/1 connects port:x/1 recv=1", "port:s/1 connects port:z/1 recv=1 src=sm")
	for at := 300; at <= 1200; at += 300 {
		e := mk("port:s/1 connects port:y/1 start=300 recv=" + fmt.Sprint(at))
		g.Add(&e)
		g.Advance(telemetry.Time(at) * second)
	}
	stale := g.StaleEdges()
	if len(stale) != 1 || stale[0].Source != "sm" {
		t.Errorf("stale %+v", stale)
	}
	if p, _, _ := g.Peer(ent("port:s/1")); p != ent("port:y/1") {
		t.Errorf("peer %v", p)
	}
}

func TestUplinksAndDownlinks(t *testing.T) {
	g := site(1, "nic:h/n0 connects port:leaf/1", "port:leaf/2 connects port:spine/1", "port:spine/2 connects port:leaf/3",
		"port:leaf/4 connects port:leaf/5", "switch:leaf contains port:leaf/6", "nic:h/n1 contains port:h/n1/p0", "port:h/n1/p0 connects port:leaf/7")
	leaf := ent("switch:leaf")
	if up, down := names(g.Uplinks(leaf)), names(g.Downlinks(leaf)); up != "port:leaf/2 port:leaf/3" || down != "port:leaf/1 port:leaf/7" {
		t.Errorf("up %s, down %s", up, down)
	}
	if got := names(g.Ports(leaf)); got != "port:leaf/1 port:leaf/2 port:leaf/3 port:leaf/4 port:leaf/5 port:leaf/6 port:leaf/7" {
		t.Errorf("ports %s", got)
	}
	if got := names(g.Switches()); got != "switch:leaf switch:spine" {
		t.Errorf("switches %s", got)
	}
}

func TestTheBelievedSourceGivesTheSpeed(t *testing.T) {
	for want, edges := range map[float64][]string{
		4e11: {"nic:h/n connects port:s/1 src=lldp speed_bits_per_second=4e11", "port:s/1 connects nic:h/n src=file speed_bits_per_second=1e11"},
		1e11: {"nic:h/n connects port:s/1 src=lldp speed_bits_per_second=fast", "port:s/1 connects nic:h/n src=file speed_bits_per_second=1e11"},
		0:    {"nic:h/n connects port:s/1 src=lldp speed_bits_per_second=-5"},
	} {
		if _, speed, ok := site(1, edges...).Peer(ent("nic:h/n")); !ok || speed != want {
			t.Errorf("speed %g, want %g", speed, want)
		}
	}
}

func TestARankOnTwoNodesIsWhereItsBestSourceSays(t *testing.T) {
	g := site(1, "rank:j/0 runs node:a src=file", "rank:j/0 runs node:b src=slurm", "rank:j/0 runs node:c src=api")
	if n, _ := g.RankNode(ent("rank:j/0")); n != ent("node:b") {
		t.Errorf("on %v", n)
	}
}

func TestAnUplinkEndsWhenItsPeerMoves(t *testing.T) {
	g := site(1, "port:a/1 connects port:b/1")
	if up := names(g.Uplinks(ent("switch:a"))); up != "port:a/1" {
		t.Errorf("uplinks %s", up)
	}
	e := mk("nic:h/n contains port:b/1 start=2")
	g.Add(&e)
	g.Advance(2 * second)
	if up := names(g.Uplinks(ent("switch:a"))); up != "" {
		t.Errorf("its peer lies in a nic, and still: uplinks %s", up)
	}
}

func TestPlacementsStandOnce(t *testing.T) {
	g := site(1, "job:j runs node:a rank=0 src=slurm", "rank:j/0 runs gpu:a/3 dp=1 src=slurm", "job:j runs node:b src=slurm",
		"rank:j/10 runs node:b role=actor", "job:j runs node:c rank=2 tp=4", "rank:j/2 runs node:c", "job:k runs gpu:c/0")
	var got []string
	for _, p := range g.Placements(ent("job:j")) {
		got = append(got, fmt.Sprintf("%s %s %s %d dp%d tp%d %q", p.Node, p.On, p.Who, p.Rank, p.DP, p.TP, p.Role))
	}
	want := []string{
		`node:a gpu:a/3 rank:j/0 0 dp1 tp-1 ""`,
		`node:b node:b rank:j/10 10 dp-1 tp-1 "actor"`,
		`node:c node:c rank:j/2 2 dp-1 tp4 ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if jobs := names(g.JobsOn(ent("node:c"))); jobs != "job:j job:k" {
		t.Errorf("on node:c: %s", jobs)
	}
	if r := names(g.Ranks(ent("job:j"))); r != "rank:j/0 rank:j/10 rank:j/2" {
		t.Errorf("ranks %s", r)
	}
	for rank, node := range map[string]string{"rank:j/0": "node:a", "rank:j/10": "node:b", "rank:j/2": "node:c"} {
		if n, ok := g.RankNode(ent(rank)); !ok || n != ent(node) {
			t.Errorf("%s on %v, want %s", rank, n, node)
		}
	}
	if n, ok := g.RankNode(ent("rank:j/7")); ok {
		t.Errorf("a rank that is not placed is on %v", n)
	}
}

func TestAJobThatEndsLeavesItsNodes(t *testing.T) {
	g := site(1, "job:j runs gpu:a/0 src=slurm", "rank:j/0 runs gpu:a/0 src=slurm", "rack:r contains node:a")
	for _, s := range []string{"job:j runs gpu:a/0 src=slurm end=5 recv=5", "rank:j/0 runs gpu:a/0 src=slurm end=5 recv=5"} {
		e := mk(s)
		g.Add(&e)
	}
	g.Advance(4 * second)
	if n := names(g.JobsOn(ent("node:a"))); n != "job:j" {
		t.Errorf("before the end: %s", n)
	}
	g.Advance(5 * second)
	if n := names(g.JobsOn(ent("node:a"))); n != "" || len(g.Jobs()) != 0 || len(g.Placements(ent("job:j"))) != 0 {
		t.Errorf("after the end: %s, jobs %v", n, g.Jobs())
	}
}

func TestGroupsAndMembers(t *testing.T) {
	g := site(1, "switch:b member plane:1", "switch:a member plane:1", "switch:a member group:tier/leaf", "switch:a member plane:1 src=file")
	if m, gr := names(g.Members(ent("plane:1"))), names(g.Groups(ent("switch:a"))); m != "switch:a switch:b" || gr != "group:tier/leaf plane:1" {
		t.Errorf("members %s, groups %s", m, gr)
	}
}

// draw makes statements about a small site, many of them contradictory.
func draw(r *rand.Rand, n int) []telemetry.Edge {
	pool := []string{"node:a", "node:b", "gpu:a/0", "gpu:a/1", "gpu:b/0", "nic:a/n", "nic:b/n", "switch:s", "switch:t", "port:s/1",
		"port:s/2", "port:t/1", "port:a/n", "queue:s/1/3", "queue:a/n/3", "rack:r", "rack:q", "job:j", "job:k", "rank:j/0", "rank:j/1",
		"rank:k/0", "plane:1", "group:g", "nvlink:a/0/1", "nvswitch:a/0"}
	rels := telemetry.Relation("")
	var out []telemetry.Edge
	for len(out) < n {
		rels = relationNames[r.IntN(len(relationNames))]
		if r.IntN(3) == 0 {
			rels = telemetry.Contains
		}
		e := telemetry.Edge{From: ent(pool[r.IntN(len(pool))]), To: ent(pool[r.IntN(len(pool))]), Relation: rels}
		if rels == telemetry.Contains && r.IntN(4) > 0 && depth(e.From.Kind) > depth(e.To.Kind) {
			e.From, e.To = e.To, e.From
		}
		if rels == telemetry.Connects && (!isEnd(e.From) || !isEnd(e.To)) {
			continue
		}
		e.Source = []string{"lldp", "file", "slurm", "odd"}[r.IntN(4)]
		e.Start = telemetry.Time(r.IntN(3)*20) * second
		if r.IntN(3) == 0 {
			e.End = e.Start + telemetry.Time(r.IntN(100)-10)*second
			e.End = max(e.End, 0)
		}
		if r.IntN(2) == 0 {
			e.Received = telemetry.Time(r.IntN(100)) * second
		}
		if r.IntN(4) == 0 {
			e.Attrs = []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: fmt.Sprint(1 + r.IntN(3))}}
		}
		out = append(out, e)
	}
	return out
}

func isEnd(e telemetry.Entity) bool { return e.Kind == telemetry.Port || e.Kind == telemetry.NIC }

func TestAnswersAreThoseOfANaiveGraph(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		es := draw(r, 5+r.IntN(40))
		known := []telemetry.Entity{ent("gpu:b/1"), ent("queue:a/n/5"), ent("rank:j/9")}
		g := New()
		for _, k := range known {
			g.Know(k)
		}
		for i := range es {
			g.Add(&es[i])
		}
		for at := 0; at <= 120; at += 30 {
			g.Advance(telemetry.Time(at) * second)
			compareWithNaive(t, fmt.Sprintf("seed %d at %d", seed, at), g, newNaive(es, known, telemetry.Time(at)*second))
			if t.Failed() {
				return
			}
		}
	}
}

func compareWithNaive(t *testing.T, what string, g *Graph, n *naive) {
	t.Helper()
	all := n.universe()
	same := func(q string, e telemetry.Entity, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s of %s: %v, want %v", what, q, e, got, want)
		}
	}
	var listed []telemetry.Entity
	for _, k := range telemetry.Kinds() {
		listed = append(listed, g.Entities(k)...)
	}
	same("existence", telemetry.Entity{}, sorted(listed), all)
	for _, e := range all {
		peer, speed, _ := g.Peer(e)
		p, s := n.peer(e)
		same("peer", e, fmt.Sprint(peer, speed), fmt.Sprint(p, s))
		c, _ := g.Container(e)
		in := append(n.containers(e), telemetry.Entity{})
		same("container", e, c, in[0])
		same("contents", e, g.Contents(e), n.contents(e))
		same("neighbours", e, g.Neighbours(e), n.neighbours(e))
		same("above", e, sorted(g.Above(e)), sorted(n.above(e)))
		switch e.Kind {
		case telemetry.Switch:
			up, down := n.uplinks(e)
			same("uplinks", e, g.Uplinks(e), up)
			same("downlinks", e, g.Downlinks(e), down)
		case telemetry.Node:
			same("jobs", e, g.JobsOn(e), n.jobsOn(e))
		case telemetry.Job:
			for _, p := range g.Placements(e) {
				same("placement node", e, p.Node, n.nodeOf(p.On))
			}
		}
		var groups, members []telemetry.Entity
		for _, nb := range n.neighbours(e) {
			if nb.Relation == telemetry.Member && nb.Out {
				groups = append(groups, nb.Entity)
			} else if nb.Relation == telemetry.Member {
				members = append(members, nb.Entity)
			}
		}
		same("groups", e, g.Groups(e), groups)
		same("members", e, g.Members(e), members)
	}
	var lost []telemetry.Edge
	for _, c := range g.Contradictions() {
		if c.Fault != FaultSelfLoop && c.Fault != FaultEndsBeforeStart {
			lost = append(lost, c.Lost)
		}
	}
	slices.SortFunc(lost, compareStatement)
	same("lost edges", telemetry.Entity{}, lost, n.lost())
}

// transcript is everything a graph answers, and its snapshot.
func transcript(g *Graph) string {
	var b strings.Builder
	for _, k := range telemetry.Kinds() {
		for _, e := range g.Entities(k) {
			fmt.Fprintln(&b, e, g.Neighbours(e), g.Contents(e), g.Placements(e), g.JobsOn(e), g.Uplinks(e), g.Downlinks(e))
		}
	}
	fmt.Fprintln(&b, g.Contradictions(), g.StaleEdges(), g.Generation())
	w := snapshot.NewWriter()
	g.Snapshot(w)
	return b.String() + string(w.Data())
}

// TestI2 : order, repetition and batching of statements change nothing.
func TestI2ArrivalOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		es := draw(r, 40)
		run := func(es []telemetry.Edge, eager bool) string {
			g := New()
			for at := 0; at <= 2000; at += 100 {
				for i := range es {
					if due := dueAt(&es[i]); eager && at == 0 || !eager && due <= telemetry.Time(at)*second && due > telemetry.Time(at-100)*second {
						g.Add(&es[i])
					}
				}
				g.Advance(telemetry.Time(at) * second)
			}
			return transcript(g)
		}
		want := run(es, true)
		mixed := append(slices.Clone(es), es[:10]...)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := run(mixed, true); got != want {
			t.Fatalf("seed %d: shuffled and repeated:\n%q\nwant\n%q", seed, got, want)
		}
		if got := run(mixed, false); got != want {
			t.Fatalf("seed %d: as they become due:\n%q\nwant\n%q", seed, got, want)
		}
	}
}

// TestI5 : a restored graph is the graph.
func TestI5ARestoredGraphGoesOnAlike(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		es := draw(r, 40)
		a := New()
		a.Know(ent("gpu:b/1"))
		for i := range es[:20] {
			a.Add(&es[i])
		}
		a.Advance(telemetry.Time(r.IntN(60)) * second)
		w := snapshot.NewWriter()
		a.Snapshot(w)
		b, c := New(), snapshot.NewReader(w.Data())
		b.Snapshot(c)
		if c.Err() != nil || c.Remaining() != 0 {
			t.Fatalf("seed %d: %v, %d bytes left", seed, c.Err(), c.Remaining())
		}
		for at := 60; at <= 3000; at += 60 {
			if at == 120 {
				for i := range es[20:] {
					a.Add(&es[20+i])
					b.Add(&es[20+i])
				}
			}
			a.Advance(telemetry.Time(at) * second)
			b.Advance(telemetry.Time(at) * second)
			if x, y := transcript(a), transcript(b); x != y {
				t.Fatalf("seed %d at %d:\n%q\nrestored\n%q", seed, at, x, y)
			}
		}
	}
}

func FuzzRestore(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 4))
	for range 5 {
		g := New()
		g.Know(ent("gpu:b/1"))
		es := draw(r, 30)
		for i := range es {
			g.Add(&es[i])
		}
		g.Advance(50 * second)
		w := snapshot.NewWriter()
		g.Snapshot(w)
		f.Add(w.Data())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g := New()
		c := snapshot.NewReader(b)
		g.Snapshot(c)
		if c.Err() != nil {
			if len(g.ids) != 0 {
				t.Error("a failed restore left something")
			}
			return
		}
		first := transcript(g)
		w := snapshot.NewWriter()
		g.Snapshot(w)
		again := New()
		again.Snapshot(snapshot.NewReader(w.Data()))
		if transcript(again) != first {
			t.Error("written and read again it differs")
		}
		g.Advance(g.At() + 1000*second)
		_ = transcript(g)
	})
}
