package gnmi

import (
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// FuzzMessage: no message makes it panic, its output can be encoded, and its memory
// stays bounded.
func FuzzMessage(f *testing.F) {
	for _, r := range []proto.Message{octets(3, 7), syncNow()} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	p, err := LoadProfile("openconfig")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer collectorstest.Bounded(t, len(b))()
		r := newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second, Queues: true}, collectorstest.Strict{T: t})
		for i := range 3 {
			_, _ = r.message(b, noon+telemetry.Time(i)*1e9) // what is damaged is an error
			r.flush()
		}
		r.restate(noon + 5e9)
		r.lost(noon + 6e9)
		if r.kept > maxKept {
			t.Errorf("%d bytes kept", r.kept)
		}
	})
}

// FuzzJSON: every document that is JSON is read to its end; no text makes it
// panic.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"Ethernet0":{"SAI_PORT_STAT_IF_IN_OCTETS":"123"}}`, `{"interface":[{"name":"a","state":{"counters":{"in-octets":1}}}]}`,
		`[1,2,{"a":[]}]`, `"\u00e9\n"`, `-1.5e300`, `{"a":{"b":[[],{}],"c":null}}`, ` {"":[true,false]} `} {
		f.Add(s)
	}
	for _, name := range []string{"openconfig", "sonic"} {
		if _, err := LoadProfile(name); err != nil {
			f.Fatal(err)
		}
	}
	profiles := map[string]*Profile{}
	for _, name := range []string{"sonic", "openconfig"} {
		p, err := LoadProfile(name)
		if err != nil {
			f.Fatal(err)
		}
		profiles[name] = p
	}
	f.Fuzz(func(t *testing.T, s string) {
		defer collectorstest.Bounded(t, len(s))()
		for _, x := range []struct{ profile, path string }{{"sonic", "COUNTERS/Ethernet*"}, {"openconfig", "/interfaces"}} {
			p := profiles[x.profile]
			r := newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second}, collectorstest.Strict{T: t})
			n := r.root
			parts, err := mapping.SplitPath(x.path)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range parts {
				n = r.child(n, mapping.Element{Name: e.Name})
			}
			r.begin(int64(noon), noon)
			if err := r.jsonValue(n, []byte(s)); err != nil && json.Valid([]byte(s)) && plain(s) {
				t.Errorf("%q: %v", s, err)
			}
			r.flush()
		}
	})
}

// plain reports whether a document is neither deep nor has an array of anything but
// objects and values, nor numbers longer than any counter.
func plain(s string) bool {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return false
	}
	return shallow(v, 0) && !long(s)
}

func shallow(v any, depth int) bool {
	if depth > 30 {
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		for _, m := range x {
			if !shallow(m, depth+1) {
				return false
			}
		}
	case []any:
		for _, m := range x {
			switch m.(type) {
			case map[string]any, []any:
				return false
			}
		}
	}
	return true
}

func long(s string) bool {
	run := 0
	for i := range len(s) {
		if c := s[i]; c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-' {
			if run++; run > 20 {
				return true
			}
			continue
		}
		run = 0
	}
	return false
}

// FuzzProfile: no text makes it panic, and a profile that is taken reads a
// message.
func FuzzProfile(f *testing.F) {
	for _, name := range ProfileNames() {
		b, err := profiles.ReadFile("profiles/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	message, err := proto.Marshal(octets(2, 9))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeProfile(b)
		if err != nil {
			return
		}
		r := newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second}, collectorstest.Strict{T: t})
		if _, err := r.message(message, noon); err != nil {
			t.Error(err)
		}
		r.flush()
	})
}
