package world

import (
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// tenants is traffic of hosts that the site does not observe, on the cables
// between leaves and spines. A nil *tenants has none.
type tenants struct {
	each  []tenant
	speed float64 // of a link, bits per second
}

type tenant struct {
	worlds.Tenant
	links []int32
	on    float64 // share of the second in which it sends
}

func newTenants(s *site.Site, specs []worlds.Tenant) *tenants {
	if len(specs) == 0 {
		return nil
	}
	out := &tenants{speed: s.Speed}
	for _, spec := range specs {
		t := tenant{Tenant: spec}
		for c := s.HostCables() + spec.First; c < s.Cables(); c += max(1, spec.Each) {
			t.links = append(t.links, site.Up(c), site.Down(c))
		}
		out.each = append(out.each, t)
	}
	return out
}

// begin sets what each tenant sends in a second, and reports whether it differs
// from the second before.
func (ts *tenants) begin(second int) bool {
	if ts == nil {
		return false
	}
	changed := false
	for i := range ts.each {
		t := &ts.each[i]
		on := t.On(second)
		changed = changed || on != t.on
		t.on = on
	}
	return changed
}

// add adds the tenants to what all offer.
func (ts *tenants) add(o *offered) {
	if ts == nil {
		return
	}
	for i := range ts.each {
		t := &ts.each[i]
		for _, l := range t.links {
			o.load[l] += float64(t.on * t.Share * ts.speed)
			o.flows[l] += t.on
		}
	}
}

// count adds the second's bytes to the links that are up.
func (ts *tenants) count(st *state.State) {
	if ts == nil {
		return
	}
	for i := range ts.each {
		t := &ts.each[i]
		for _, l := range t.links {
			if s := &st.Links[l]; s.Up {
				bytes := float64(t.on*t.Share*ts.speed) / 8
				s.SentTotal += bytes
				s.TakenTotal += bytes
			}
		}
	}
}
