package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/telemetry"
)

// layout is how a scheduler groups nodes. It is not cabling: a tree has one switch
// for each node, whatever its rails.
type layout struct {
	edges []telemetry.Edge
	made  map[string]bool
	err   error
}

var errLayout = errors.New("no topology that is known")

// readLayout reads a file: Slurm's topology.conf or topology.yaml, a model of
// topograph, or NMX's list of compute nodes.
func readLayout(text []byte) ([]telemetry.Edge, error) {
	l := &layout{made: map[string]bool{}}
	switch {
	case isConf(text):
		l.conf(text)
	case len(bytes.TrimSpace(text)) > 0 && bytes.TrimSpace(text)[0] == '[' && json.Valid(text):
		l.netq(text)
	default:
		l.document(text)
	}
	if l.err == nil && len(l.edges) == 0 {
		l.err = fmt.Errorf("%w: nothing in it", errLayout)
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.edges, nil
}

func (l *layout) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

func group(key, name string) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Group, Name: key + "/" + telemetry.NamePart(name)}
}

func (l *layout) edge(from telemetry.Entity, rel telemetry.Relation, to telemetry.Entity) {
	if from == to {
		l.fail("%w: %s leads to itself", errLayout, from)
		return
	}
	e := telemetry.Edge{From: from, To: to, Relation: rel, Source: typeFile}
	k := from.String() + " " + string(rel) + " " + to.String()
	if l.made[k] {
		return
	}
	for _, x := range [...]telemetry.Entity{from, to} {
		if err := x.Validate(); err != nil {
			l.fail("%w", err)
			return
		}
	}
	if len(l.edges) >= mostHosts {
		l.fail("%w: more than %d edges", errLayout, mostHosts)
		return
	}
	l.made[k] = true
	l.edges = append(l.edges, e)
}

// nodes states that every node of a list is a member of an entity.
func (l *layout) nodes(list string, in telemetry.Entity) {
	names, err := hosts(list)
	if err != nil {
		l.fail("%s: %w", in, err)
	}
	for _, n := range names {
		l.edge(telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(n)}, telemetry.Member, in)
	}
}

func (l *layout) below(list string, in telemetry.Entity) {
	names, err := hosts(list)
	if err != nil {
		l.fail("%s: %w", in, err)
	}
	for _, n := range names {
		l.edge(in, telemetry.Contains, group("switch", n))
	}
}

// confKeys begin the lines of topology.conf, whatever their case.
func confKeys() []string { return []string{"switchname", "blockname", "ringname", "blocksizes"} }

// isConf reports whether the first line that is no comment is of topology.conf.
func isConf(text []byte) bool {
	for line := range bytes.Lines(text) {
		s := strings.ToLower(strings.TrimSpace(string(line)))
		if s == "" || s[0] == '#' {
			continue
		}
		key, _, found := strings.Cut(s, "=")
		return found && slices.Contains(confKeys(), key)
	}
	return false
}

func (l *layout) conf(text []byte) {
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, longestLine)
	for n := 1; in.Scan() && l.err == nil; n++ {
		line, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := l.confLine(words); err != nil {
			l.fail("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		l.fail("%w: %w", errLayout, err)
	}
}

func (l *layout) confLine(words []string) error {
	var of telemetry.Entity
	for i, w := range words {
		key, value, found := strings.Cut(w, "=")
		if !found || value == "" {
			return fmt.Errorf("%w: %.40q: want a key and a value", errLayout, w)
		}
		key = strings.ToLower(key)
		switch {
		case i == 0 && key == "blocksizes":
			return nil
		case i == 0 && slices.Contains(confKeys(), key):
			of = group(strings.TrimSuffix(key, "name"), value)
		case i == 0:
			return fmt.Errorf("%w: %.40q", errLayout, w)
		case key == "nodes":
			l.nodes(value, of)
		case key == "switches" || key == "children":
			l.below(value, of)
		case key == "linkspeed": // nobody uses it
		default:
			return fmt.Errorf("%w: unknown key %.40q", errLayout, key)
		}
	}
	return l.err
}

// model is a topology as topograph has it.
type model struct {
	Switches map[string]struct {
		Switches []string
		Nodes    []string
	}
	Blocks []struct {
		Switch      string
		Nodes       []string
		Annotations map[string]string
		Labels      map[string]string
	}
}

// slurmTopology is an item of topology.yaml.
type slurmTopology struct {
	Topology string
	Tree     struct {
		Switches []struct {
			Switch   string
			Children string
			Nodes    string
		}
	}
	Block struct {
		Blocks []struct {
			Block string
			Nodes string
		}
	}
	Ring struct {
		Rings []struct {
			Ring  string
			Nodes string
		}
	}
}

func (l *layout) document(text []byte) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		l.fail("%w: %w", errLayout, err)
		return
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return
	}
	switch n := root.Content[0]; n.Kind {
	case yaml.SequenceNode:
		var list []slurmTopology
		if err := n.Decode(&list); err != nil {
			l.fail("%w: %w", errLayout, err)
		}
		for i := range list {
			l.slurm(&list[i])
		}
	case yaml.MappingNode:
		var m model
		if err := n.Decode(&m); err != nil {
			l.fail("%w: %w", errLayout, err)
		}
		l.topograph(&m)
	default:
		l.fail("%w: neither Slurm's nor topograph's", errLayout)
	}
}

func (l *layout) slurm(t *slurmTopology) {
	for _, s := range t.Tree.Switches {
		l.below(s.Children, group("switch", s.Switch))
		l.nodes(s.Nodes, group("switch", s.Switch))
	}
	for _, b := range t.Block.Blocks {
		l.nodes(b.Nodes, group("block", b.Block))
	}
	for _, b := range t.Ring.Rings {
		l.nodes(b.Nodes, group("ring", b.Ring))
	}
}

func (l *layout) topograph(m *model) {
	for _, name := range slices.Sorted(maps.Keys(m.Switches)) {
		for _, s := range m.Switches[name].Switches {
			l.below(s, group("switch", name))
		}
		for _, n := range m.Switches[name].Nodes {
			l.nodes(n, group("switch", name))
		}
	}
	for _, b := range m.Blocks {
		for _, n := range b.Nodes {
			if b.Switch != "" {
				l.nodes(n, group("switch", b.Switch))
			}
			for _, of := range []map[string]string{b.Annotations, b.Labels} {
				for _, k := range slices.Sorted(maps.Keys(of)) {
					if _, level, found := strings.Cut(k, "accelerator."); found && of[k] != "" {
						_, level, _ = strings.Cut(level, "/")
						l.nodes(n, group("accelerator-"+telemetry.NamePart(level), of[k]))
					}
				}
			}
		}
	}
}
