package plugin

import "sync"

// maxPlaces bounds how many paths are remembered: those of dashboards in use.
const maxPlaces = 1024

// places remembers, for each path, where in Quintet's stream its subscribers'
// first picture ends, so that its stream begins there. Grafana asks for the
// picture and for the stream in two calls.
type places struct {
	mu sync.Mutex
	at map[string]string
}

func newPlaces() *places { return &places{at: map[string]string{}} }

// begin remembers the place of the first picture; a stream that runs already is
// further on.
func (p *places) begin(path, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.at[path]; ok || id == "" {
		return
	}
	if len(p.at) >= maxPlaces {
		for k := range p.at { // any: who is forgotten reads the list again
			delete(p.at, k)
			break
		}
	}
	p.at[path] = id
}

// take gives the place up, if there is one.
func (p *places) take(path string) (id string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok = p.at[path]
	delete(p.at, path)
	return id, ok
}
