package worlds_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

const seeds = 200

// draws are the worlds of a family for many seeds.
func draws(f worlds.Family) []worlds.World {
	var out []worlds.World
	for seed := range uint64(seeds) {
		out = append(out, worlds.Draw(f, seed+1))
	}
	return out
}

func TestDrawOfStandardIsTheZeroWorld(t *testing.T) {
	if w := worlds.Draw(worlds.Standard, 7); !reflect.DeepEqual(w, worlds.World{}) {
		t.Errorf("Draw(Standard) = %+v, want the zero World", w)
	}
}

func TestDrawIsDeterministic(t *testing.T) {
	for _, f := range worlds.Families() {
		distinct := 0
		for seed := range uint64(20) {
			a, b := worlds.Draw(f, seed), worlds.Draw(f, seed)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("Draw(%s, %d) differs from itself", f, seed)
			}
			if !reflect.DeepEqual(a, worlds.Draw(f, seed+1)) {
				distinct++
			}
		}
		if distinct < 5 {
			t.Errorf("%s: only %d of 20 consecutive seeds differ", f, distinct)
		}
	}
}

// TestDrawVariesOnlyItsFamily holds what each family may change.
func TestDrawVariesOnlyItsFamily(t *testing.T) {
	may := map[worlds.Family][]string{
		worlds.PhysicsFamily: {"Physics"}, worlds.NoiseFamily: {"Noise"}, worlds.CadenceFamily: {"Cadence", "Jobs"},
		worlds.VendorEthernet: {"Fabric", "Instruments"}, worlds.VendorInfiniBand: {"Fabric", "Instruments"},
		worlds.Facility: {"Instruments"}, worlds.JobsFamily: {"Jobs", "Neighbours", "Fabric"}, worlds.Routing: {"Fabric"},
		worlds.NeighbourFamily: {"Neighbours"}, worlds.NamesCold: {"Names", "Jobs"},
	}
	for _, f := range worlds.Families() {
		for _, w := range draws(f) {
			v := reflect.ValueOf(w)
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if name != "Family" && !v.Field(i).IsZero() && !slices.Contains(may[f], name) {
					t.Fatalf("%s varies %s", f, name)
				}
			}
		}
	}
}

// within reports the least and the most of a number over worlds, and fails where
// they leave a range or do not fill four fifths of it.
func within(t *testing.T, name string, xs []float64, low, high float64) {
	t.Helper()
	least, most := slices.Min(xs), slices.Max(xs)
	if least < low || most > high {
		t.Errorf("%s: %g to %g, want within %g to %g", name, least, most, low, high)
	}
	if most-least < 0.8*(high-low) {
		t.Errorf("%s: %g to %g, want most of %g to %g", name, least, most, low, high)
	}
}

func each(ws []worlds.World, of func(*worlds.World) float64) []float64 {
	var out []float64
	for i := range ws {
		out = append(out, of(&ws[i]))
	}
	return out
}

func TestDrawPhysicsRanges(t *testing.T) {
	ws := draws(worlds.PhysicsFamily)
	for name, of := range map[string]func(*worlds.Physics) worlds.Scale{
		"host": func(p *worlds.Physics) worlds.Scale { return p.Host }, "capacity": func(p *worlds.Physics) worlds.Scale { return p.Capacity },
		"leakage": func(p *worlds.Physics) worlds.Scale { return p.Leakage }, "coolant": func(p *worlds.Physics) worlds.Scale { return p.Coolant },
		"pumps": func(p *worlds.Physics) worlds.Scale { return p.Pumps }, "buffers": func(p *worlds.Physics) worlds.Scale { return p.Buffers },
		"bursts": func(p *worlds.Physics) worlds.Scale { return p.Bursts }, "window": func(p *worlds.Physics) worlds.Scale { return p.Window },
		"storage": func(p *worlds.Physics) worlds.Scale { return p.Storage }, "saving": func(p *worlds.Physics) worlds.Scale { return p.Saving },
	} {
		within(t, name, each(ws, func(w *worlds.World) float64 { return float64(of(&w.Physics)) }), 0.5, 2)
	}
	within(t, "power", each(ws, func(w *worlds.World) float64 { return float64(w.Physics.Power) }), 0.57, 1.7)
	within(t, "quanta", each(ws, func(w *worlds.World) float64 { return float64(w.Physics.Quanta) }), 0.67, 2)
	within(t, "rise", each(ws, func(w *worlds.World) float64 { return float64(w.Physics.Power) * float64(w.Physics.Resistance) }), 0.6, 1.05)
	within(t, "hottest", each(ws, func(w *worlds.World) float64 { return w.Physics.Hottest }), -2, 8)
	within(t, "link speed", each(ws, func(w *worlds.World) float64 { return w.Physics.LinkSpeed }), 100e9, 800e9)
}

func TestDrawCadenceRanges(t *testing.T) {
	ws := draws(worlds.CadenceFamily)
	within(t, "lost", each(ws, func(w *worlds.World) float64 { return w.Cadence.Lost }), 0, 0.1)
	within(t, "step seconds", each(ws, func(w *worlds.World) float64 { return w.Jobs.StepSeconds }), 0.3, 60)
	within(t, "steps a report", each(ws, func(w *worlds.World) float64 { return float64(w.Jobs.Every) }), 1, 20)
	within(t, "interval of ports", each(ws, func(w *worlds.World) float64 { return float64(w.Cadence.Of("gnmi", "ports").Seconds) }), 1, 30)
	staggered := 0
	for i := range ws {
		if p := ws[i].Cadence.Of("sysfs", "nics"); p.Staggered {
			staggered++
		}
	}
	if staggered < seeds/5 || staggered > seeds*4/5 {
		t.Errorf("%d of %d worlds read NICs one by one", staggered, seeds)
	}
}

// TestDrawTakesEveryProfile: each family that draws one of several does so.
func TestDrawTakesEveryProfile(t *testing.T) {
	for f, want := range map[worlds.Family]int{worlds.VendorEthernet: 7, worlds.VendorInfiniBand: 6, worlds.Facility: 6} {
		seen := map[string]bool{}
		for _, w := range draws(f) {
			seen[w.Instruments.Profile] = true
		}
		if len(seen) != want {
			t.Errorf("%s: %d profiles, want %d", f, len(seen), want)
		}
	}
	spreads, shapes, names := map[worlds.Spread]bool{}, map[worlds.Shape]bool{}, map[int]bool{}
	for i := range uint64(seeds) {
		spreads[worlds.Draw(worlds.Routing, i).Fabric.Spread] = true
		shapes[worlds.Draw(worlds.NoiseFamily, i).Noise.Shape] = true
		names[worlds.Draw(worlds.NamesCold, i).Names.Convention] = true
	}
	if len(spreads) != 3 || len(shapes) != 4 || len(names) != worlds.Conventions {
		t.Errorf("%d spreads, %d shapes, %d conventions; want 3, 4, %d", len(spreads), len(shapes), len(names), worlds.Conventions)
	}
}

// TestNoiseHasDeviationOne holds mean and deviation of each shape, and what
// distinguishes it.
func TestNoiseHasDeviationOne(t *testing.T) {
	const n = 40000
	for _, shape := range []worlds.Shape{worlds.Gaussian, worlds.Student, worlds.AR1, worlds.Bimodal} {
		noise := worlds.Noise{Shape: shape, Keep: 0.8, Often: 0.3}
		r := random.New(5)
		var sum, squares, lagged, x float64
		far := 0
		for range n {
			before := x
			x = noise.Next(&r, before)
			sum, squares, lagged = sum+x, squares+x*x, lagged+x*before
			if math.Abs(x) > 4 {
				far++
			}
		}
		mean, deviation := sum/n, math.Sqrt(squares/n)
		if math.Abs(mean) > 0.05 || math.Abs(deviation-1) > 0.15 {
			t.Errorf("%s: mean %.3f, deviation %.3f; want 0 and 1", shape, mean, deviation)
		}
		if keeps := lagged/squares > 0.7; keeps != (shape == worlds.AR1) {
			t.Errorf("%s: correlation %.2f from one to the next", shape, lagged/squares)
		}
		if tails := far > n/1000; tails != (shape == worlds.Student) {
			t.Errorf("%s: %d of %d beyond four deviations", shape, far, n)
		}
	}
}

func TestNoiseAtDependsOnTheNumberAlone(t *testing.T) {
	noise := worlds.Noise{Shape: worlds.AR1, Keep: 0.9}
	stream := random.New(3)
	a := noise.At(stream, 500)
	for i := range 100 {
		noise.At(stream, i)
	}
	if b := noise.At(stream, 500); a != b {
		t.Errorf("At(500) = %g, then %g", a, b)
	}
}

// TestNamesAreUnique: a convention gives no two entities of a site one name, and
// keeps what is contained in what.
func TestNamesAreUnique(t *testing.T) {
	cfg := site.Sized(512)
	cfg.Optics = true
	s, err := site.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := map[telemetry.Entity]bool{}
	for e := range s.Edges {
		all[e.From], all[e.To] = true, true
	}
	for c := range worlds.Conventions {
		names := worlds.Names{Convention: c + 1}
		seen := map[telemetry.Entity]telemetry.Entity{}
		for e := range all {
			to := names.Entity(e)
			if err := to.Validate(); err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[to]; ok {
				t.Fatalf("convention %d: %v and %v are both %v", c+1, e, other, to)
			}
			seen[to] = e
			renames(t, names, e, to)
		}
	}
}

// renames checks that machines get another name and everything in them its
// prefix.
func renames(t *testing.T, names worlds.Names, e, to telemetry.Entity) {
	t.Helper()
	switch e.Kind {
	case telemetry.Node, telemetry.Switch:
		if to == e || to.Prefix() != "" {
			t.Errorf("%v is %v under convention %d", e, to, names.Convention)
		}
	case telemetry.GPU, telemetry.NIC, telemetry.Fan:
		if host, _, _ := strings.Cut(e.Name, "/"); to.Prefix() != names.Entity(telemetry.Entity{Kind: telemetry.Node, Name: host}).Name {
			t.Errorf("%v is %v, which is not in its node", e, to)
		}
	case telemetry.Port:
		if to.Prefix() != names.Entity(telemetry.Entity{Kind: telemetry.Switch, Name: e.Prefix()}).Name {
			t.Errorf("%v is %v, which is not in its switch", e, to)
		}
	}
}

func TestTenantIsOnForItsDuty(t *testing.T) {
	tenant := worlds.Tenant{Period: 7, Duty: 0.4, Phase: 0.3}
	sum := 0.0
	for s := range 7000 {
		sum += tenant.On(s)
	}
	if duty := sum / 7000; math.Abs(duty-0.4) > 0.01 {
		t.Errorf("on for %.3f of the time, want 0.4", duty)
	}
}

func TestParse(t *testing.T) {
	if f, err := worlds.Parse("physics"); err != nil || f != worlds.PhysicsFamily {
		t.Errorf("Parse(physics) = %q, %v", f, err)
	}
	if _, err := worlds.Parse("gremlins"); err == nil {
		t.Error("Parse accepts gremlins")
	}
}
