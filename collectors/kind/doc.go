// Package kind describes kinds of collectors. A kind is a value with all that the
// rest of the program knows about a collector: its key in the configuration, how an
// entry is decoded and opened, how what it reads is found, and what to check when its
// data stops.
//
// It owns the description and nothing else. It never imports a collector: each
// collector's folder has a function Kind, and collectors/standard lists them.
package kind

import (
	"context"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/settings"
)

// Kind describes one kind of collector.
type Kind struct {
	// Name is the key below "collectors" in the configuration.
	Name string
	// Doc describes in one sentence the data that is read.
	Doc string
	// Advice is what to check first when a source of this kind has no data.
	Advice string
	// Single is true where a process can have one entry only.
	Single bool
	// Settings is the struct that an entry is decoded into; its tags are its schema.
	Settings any
	// Mapping is the struct that a mapping file of an entry is decoded into; nil where
	// an entry has none.
	Mapping any
	// Open decodes an entry of the configuration and makes its collectors, which
	// connect to nothing until Run: one, or one for each target. The error joins a
	// *settings.Problem for everything that is wrong with the entry.
	Open func(entry *yaml.Node, guard dial.Guard) ([]Collector, error)
	// Find returns what entries of this kind could read. It only reads, and sends no
	// secret. It is nil where nothing can be found without being named.
	Find func(ctx context.Context, where Search) []Found
}

// Search is where Find looks.
type Search struct {
	// Root is the root of the host's file system: "/".
	Root string
	// Env returns a variable of the environment, "" if it is not set.
	Env func(name string) string
	// Places are what may be asked over the network: host, host:port or URL.
	Places []string
	// Guard allows their addresses.
	Guard dial.Guard
	// Account is that of management controllers.
	Account dial.BasicAuth
	// CA is a file of certificates that the controllers' must be signed by; the
	// default are those of the system.
	CA string
}

// Found is something that an entry could read.
type Found struct {
	// What describes it in words.
	What string
	// Entry is an entry of the configuration that reads it.
	Entry map[string]any
	// Lacks is what the entry lacks, and how to get it. An entry that lacks nothing
	// can be read as it is.
	Lacks string
}

// Collector is a collector that names what it reads.
type Collector interface {
	collectors.Collector
	// Target is the source that is read, for people: a path, an address.
	Target() string
}

// Entry returns the function that decodes an entry of a kind. Its error joins a
// *settings.Problem for everything that is wrong with the entry; a nil or empty node has
// the defaults.
func Entry[C any](kind string) func(*yaml.Node) (C, error) {
	return func(n *yaml.Node) (c C, err error) {
		err = settings.Decode(kind, n, &c)
		return c, err
	}
}

// Opener returns a Kind's Open from the two functions that a collector has: the one
// that decodes an entry, and the one that makes a collector of it.
func Opener[C any, T Collector](decode func(*yaml.Node) (C, error), open func(C, dial.Guard) (T, error)) func(*yaml.Node, dial.Guard) ([]Collector, error) {
	return Openers(func(n *yaml.Node) ([]C, error) {
		c, err := decode(n)
		return []C{c}, err
	}, open)
}

// Openers is Opener for entries that have several targets, with a collector for each.
func Openers[C any, T Collector](decode func(*yaml.Node) ([]C, error), open func(C, dial.Guard) (T, error)) func(*yaml.Node, dial.Guard) ([]Collector, error) {
	return func(n *yaml.Node, g dial.Guard) (out []Collector, err error) {
		all, err := decode(n)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			made, err := open(c, g)
			if err != nil {
				return nil, err
			}
			out = append(out, made)
		}
		return out, nil
	}
}

// Local adapts the constructor of a collector that connects to no address.
func Local[C, T any](open func(C) (T, error)) func(C, dial.Guard) (T, error) {
	return func(c C, _ dial.Guard) (T, error) { return open(c) }
}
