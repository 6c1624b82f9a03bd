package plugin

import "sync"

// maxPlaces bounds how many paths are remembered: those of dashboards in use.
const maxPlaces = 1024

// places keeps, for each path, the position in Quintet's stream at which its
// subscribers' first picture ends, so that its stream begins there. Grafana
// requests the picture and the stream in two calls. A running stream knows its
// place itself: it is before the picture of later subscribers.
type places struct {
	mu      sync.Mutex
	at      map[string]string
	running map[string]int
}

func newPlaces() *places { return &places{at: map[string]string{}, running: map[string]int{}} }

// begin stores the place of a picture, for the stream that follows. The first
// picture counts: its subscriber must miss nothing.
func (p *places) begin(path, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.at[path]; ok || id == "" || p.running[path] > 0 {
		return
	}
	if len(p.at) >= maxPlaces {
		for k := range p.at { // any: whose place is forgotten reads the list again
			delete(p.at, k)
			break
		}
	}
	p.at[path] = id
}

// take gives the place, if there is one, to the stream of the path, which runs
// until it calls done.
func (p *places) take(path string) (id string, ok bool, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok = p.at[path]
	delete(p.at, path)
	p.running[path]++
	return id, ok, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running[path]--; p.running[path] == 0 {
			delete(p.running, path)
		}
	}
}
