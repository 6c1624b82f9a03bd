package plugin

import "testing"

// The first picture of a path is where its stream begins; while it runs, what
// others are shown moves nothing.
func TestPlaces(t *testing.T) {
	p := newPlaces()
	p.begin("a", "7")
	p.begin("a", "9") // a second subscriber, before the stream runs
	id, ok, done := p.take("a")
	if id != "7" || !ok {
		t.Fatalf("%q, %v; want the first picture's place", id, ok)
	}
	p.begin("a", "12")
	done()
	if id, ok, _ := p.take("a"); ok {
		t.Errorf("%q is left of a stream that ran", id)
	}
	p.begin("b", "")
	if _, ok, _ := p.take("b"); ok {
		t.Error("a picture without a place gave one")
	}
}

// Places of paths without a running stream are removed and do not accumulate.
func TestPlacesAreBounded(t *testing.T) {
	p := newPlaces()
	for i := range 10 * maxPlaces {
		p.begin(string(rune(i)), "1")
	}
	if len(p.at) > maxPlaces {
		t.Errorf("%d are remembered, want at most %d", len(p.at), maxPlaces)
	}
}
