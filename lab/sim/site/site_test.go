package site_test

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

func build(t *testing.T, cfg site.Config) *site.Site {
	t.Helper()
	s, err := site.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// census is what a site's edges state.
type census struct {
	entities map[telemetry.Entity]bool
	kinds    map[telemetry.Kind]int
	edges    map[telemetry.Relation]int
	all      []telemetry.Edge
}

func count(t *testing.T, s *site.Site) census {
	t.Helper()
	c := census{map[telemetry.Entity]bool{}, map[telemetry.Kind]int{}, map[telemetry.Relation]int{}, nil}
	type key struct {
		from, to telemetry.Entity
		r        telemetry.Relation
	}
	seen := map[key]bool{}
	for e := range s.Edges {
		if k := (key{e.From, e.To, e.Relation}); seen[k] {
			t.Fatalf("%v %s %v is stated twice", e.From, e.Relation, e.To)
		} else {
			seen[k] = true
		}
		for _, x := range []telemetry.Entity{e.From, e.To} {
			if !c.entities[x] {
				c.entities[x] = true
				c.kinds[x.Kind]++
				if err := x.Validate(); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.edges[e.Relation]++
		c.all = append(c.all, e)
	}
	return c
}

// TestReferenceSite holds the size of the reference site.
func TestReferenceSite(t *testing.T) {
	s := build(t, site.Reference())
	c := count(t, s)
	for kind, want := range map[telemetry.Kind]int{
		telemetry.Node: 2048, telemetry.GPU: 16384, telemetry.NIC: 16384, telemetry.Plane: 8,
		telemetry.Switch: 768, telemetry.Port: 768 * 64, // every port is cabled
		telemetry.Rack: 512 + 64 + 32, telemetry.Shelf: 1024, telemetry.PSU: 6144, telemetry.PDU: 128, telemetry.UPS: 8, telemetry.Feed: 2,
		telemetry.Loop: 512, telemetry.CDU: 128, telemetry.Row: 64, telemetry.Hall: 4, telemetry.Site: 1,
	} {
		if c.kinds[kind] != want {
			t.Errorf("%d of kind %s, want %d", c.kinds[kind], kind, want)
		}
	}
	if s.Leaves != 64 || s.Spines != 32 || s.Switches() != 768 {
		t.Errorf("%d leaves, %d spines a plane, %d switches; want 64, 32, 768", s.Leaves, s.Spines, s.Switches())
	}
	if got := c.edges[telemetry.Connects]; got != 32768 || got != s.Cables() {
		t.Errorf("%d cables stated, %d built, want 32768", got, s.Cables())
	}
}

// TestASiteOfAnySize holds what is true of every site: nothing is left hanging.
func TestASiteOfAnySize(t *testing.T) {
	for _, gpus := range []int{8, 16, 24, 64, 256, 1000, 1024, 4096, 8192} {
		for _, wiring := range []site.Wiring{site.Planes, site.Rails} {
			cfg := site.Sized(gpus)
			cfg.Wiring, cfg.Optics = wiring, gpus < 300
			s, err := site.New(cfg)
			if err != nil {
				if wiring == site.Rails && gpus > 2048 {
					continue // 64 leaves under spines of 64 ports hold 2,048 NICs
				}
				t.Fatalf("%d GPUs: %v", gpus, err)
			}
			c := count(t, s)
			if c.kinds[telemetry.GPU] != (gpus+7)/8*8 || c.kinds[telemetry.NIC] != c.kinds[telemetry.GPU] || c.edges[telemetry.Pairs] != c.kinds[telemetry.GPU] {
				t.Errorf("%d GPUs: built %d with %d NICs", gpus, c.kinds[telemetry.GPU], c.kinds[telemetry.NIC])
			}
			nothingHangs(t, c)
			radix(t, s, c)
		}
	}
}

// nothingHangs: every thing but the outermost is contained in one other, every
// cable's end in one cable, every node and switch fed from both sides.
func nothingHangs(t *testing.T, c census) {
	t.Helper()
	container, cabled := map[telemetry.Entity]int{}, map[telemetry.Entity]int{}
	fed := map[telemetry.Entity]map[byte]bool{}
	for _, e := range c.all {
		switch e.Relation {
		case telemetry.Contains:
			container[e.To]++
		case telemetry.Connects:
			cabled[e.From]++
			cabled[e.To]++
		case telemetry.Feeds:
			if fed[e.To] == nil {
				fed[e.To] = map[byte]bool{}
			}
			fed[e.To][side(e.From)] = true
		}
	}
	free := []telemetry.Kind{telemetry.Site, telemetry.Feed, telemetry.Plane, telemetry.Rail, telemetry.Group}
	for e := range c.entities {
		if container[e] != 1 && !slices.Contains(free, e.Kind) {
			t.Errorf("%v is contained in %d things", e, container[e])
		}
		if (e.Kind == telemetry.Port || e.Kind == telemetry.NIC) && cabled[e] != 1 {
			t.Errorf("%v is at the end of %d cables", e, cabled[e])
		}
		if (e.Kind == telemetry.Node || e.Kind == telemetry.Switch) && len(fed[e]) != 2 {
			t.Errorf("%v is fed from sides %v", e, fed[e])
		}
	}
}

// side returns 'a' or 'b' of a power source's name.
func side(e telemetry.Entity) byte {
	for i := range e.Name {
		if rest := e.Name[i:]; rest == "a" || rest == "b" || len(rest) > 2 && rest[0] == '/' && rest[2] == '/' {
			if rest[0] == '/' {
				return rest[1]
			}
			return rest[0]
		}
	}
	return '?'
}

// radix: no switch has more ports than it can.
func radix(t *testing.T, s *site.Site, c census) {
	t.Helper()
	ports := map[string]int{}
	for e := range c.entities {
		if e.Kind == telemetry.Port {
			ports[e.Prefix()]++
		}
	}
	for sw, n := range ports {
		if n > s.Radix {
			t.Errorf("%s has %d ports, at most %d", sw, n, s.Radix)
		}
	}
	if len(ports) != s.Switches() {
		t.Errorf("%d switches have ports, want %d", len(ports), s.Switches())
	}
}

// TestPathsFollowTheCables: each link begins at the device where the one before
// it ended, whatever the hash chose, and all ways are different.
func TestPathsFollowTheCables(t *testing.T) {
	for _, cfg := range []site.Config{site.Sized(256), {Nodes: 32, Wiring: site.Rails, NodesPerLeaf: 8, Uplinks: 8, Spines: 4}} {
		s := build(t, cfg)
		from, to := site.End{Node: 1, NIC: 3}, site.End{Node: s.Nodes - 1, NIC: 3}
		leaves, spines := s.Choices(from, to)
		if leaves < 2 {
			t.Fatalf("no choice between %v and %v", from, to)
		}
		ways := map[[2]int32]bool{}
		for u := range leaves {
			for v := range spines {
				p := s.Path(nil, from, to, [2]int{u, v})
				if len(p) != 4 {
					t.Fatalf("path of %d links between leaves, want 4", len(p))
				}
				ways[[2]int32{p[1], p[2]}] = true
				follow(t, s, p, from, to)
			}
		}
		if len(ways) != leaves*spines {
			t.Errorf("%d ways of %d choices", len(ways), leaves*spines)
		}
		follow(t, s, s.Path(nil, from, site.End{Node: 0, NIC: 3}, [2]int{}), from, site.End{Node: 0, NIC: 3})
	}
}

func follow(t *testing.T, s *site.Site, path []int32, from, to site.End) {
	t.Helper()
	at := site.NICName(from.Node, from.NIC)
	for i, l := range path {
		a, b := s.Sender(l)
		if i == 0 && a != at || i > 0 && a.Prefix() != at.Prefix() {
			t.Errorf("link %d leaves %v, the one before came to %v", i, a, at)
		}
		at = b
	}
	if at != site.NICName(to.Node, to.NIC) {
		t.Errorf("path ends at %v", at)
	}
}

func TestPlanesShareNothing(t *testing.T) {
	s := build(t, site.Sized(256))
	if a, b := s.Choices(site.End{Node: 0, NIC: 0}, site.End{Node: 9, NIC: 1}); a != 0 || b != 0 {
		t.Errorf("%d, %d ways between planes", a, b)
	}
}

func TestWhatCannotBeBuilt(t *testing.T) {
	for name, cfg := range map[string]site.Config{
		"no nodes":            {},
		"too many for tiers":  {Nodes: 2049},
		"rails at full size":  {Nodes: 2048, Wiring: site.Rails},
		"uneven uplinks":      {Nodes: 64, Uplinks: 7, Spines: 2},
		"more ports than any": {Nodes: 64, NodesPerLeaf: 60, Uplinks: 8},
		"negative":            {Nodes: 4, NodesPerRack: -1},
	} {
		if s, err := site.New(cfg); err == nil {
			t.Errorf("%s: built %+v", name, s)
		}
	}
}

// TestEdgesStopWhenNobodyWantsMore keeps the contract of an iterator.
func TestEdgesStopWhenNobodyWantsMore(t *testing.T) {
	n := 0
	for range build(t, site.Sized(16)).Edges {
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		t.Errorf("%d edges", n)
	}
}
