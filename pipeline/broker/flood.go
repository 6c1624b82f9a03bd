package broker

import (
	"fmt"
	"path/filepath"

	nats "github.com/nats-io/nats-server/v2/server"
)

// maxUserConnections is how many connections one credential may have. A process has two;
// what it left behind half open is ended by the server's pings.
const maxUserConnections = 16

// Trim ends the connections that a credential has beyond maxUserConnections, the newest
// first, so that one host cannot take the connections of all: the server itself bounds
// those of an account only. It returns how many, by the name of the enrolled process.
func (s *Server) Trim() (map[string]int, error) {
	if s.nats.NumClients() <= maxUserConnections {
		return nil, nil
	}
	open, err := s.nats.Connz(&nats.ConnzOptions{Username: true, Limit: maxClients, Sort: nats.ByCid})
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	var ended map[string]int // by key
	have := map[string]int{}
	for _, c := range open.Conns { // the oldest first
		if c.AuthorizedUser == "" {
			continue // not admitted yet: it has two seconds
		}
		if have[c.AuthorizedUser]++; have[c.AuthorizedUser] <= maxUserConnections {
			continue
		}
		if s.nats.DisconnectClientByID(c.Cid) != nil {
			continue // it has ended by itself
		}
		if ended == nil {
			ended = map[string]int{}
		}
		ended[c.AuthorizedUser]++
	}
	if ended == nil {
		return nil, nil
	}
	return s.named(ended)
}

// named replaces keys by the names of the processes that they were enrolled for.
func (s *Server) named(counts map[string]int) (map[string]int, error) {
	all, err := enrolments(filepath.Join(s.cfg.Dir, keysFolder))
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	out := map[string]int{}
	for _, e := range all {
		for _, k := range e.Keys {
			if n := counts[k]; n > 0 {
				out[e.Name] += n
				delete(counts, k)
			}
		}
	}
	for _, n := range counts { // of this machine, or of a record that was removed
		out["not enrolled"] += n
	}
	return out, nil
}
