// Package discovery reads targets from files, in the form of Prometheus's
// file_sd_configs: a site's inventory is a file that another tool writes.
//
// It owns the form of those files. It must never know what a target is.
package discovery

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// Limits of what is read.
const (
	maxFile    = 8 << 20 // bytes
	MaxTargets = 1 << 14 // of all files of one entry
	maxLabel   = 120     // bytes
)

// FileSD names files with targets. They are read again when they change.
type FileSD struct {
	// Files are paths, JSON or YAML; * matches anything but a slash.
	Files []string `yaml:"files" example:"[/etc/quintet/targets/*.json]"`
}

// Validate reports invalid patterns.
func (f FileSD) Validate() error {
	if len(f.Files) == 0 {
		return fmt.Errorf("files: required")
	}
	for _, pattern := range f.Files {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return settings.Errorf("files", "%.80q: %w", pattern, err)
		}
	}
	return nil
}

// Group is targets that have the same labels: a group of a file, or an entry's own.
type Group struct {
	// Targets are addresses.
	Targets []string `yaml:"targets,single"`
	// Labels are what is known of them.
	Labels map[string]string `yaml:"labels"`
}

// Validate reports labels that are too long.
func (g Group) Validate() error {
	for name, value := range g.Labels {
		if len(name) > maxLabel || len(value) > maxLabel {
			return settings.Errorf("labels", "%.40q: want at most %d bytes", name, maxLabel)
		}
	}
	return nil
}

// Read returns the groups of all files, in the order of the configuration and of the
// files' names. Errors name the file, and where they can the line.
func Read(all []FileSD) (out []Group, err error) {
	targets := 0
	for _, f := range all {
		paths, err := f.paths()
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			groups, err := readFile(path)
			if err != nil {
				return nil, err
			}
			for _, g := range groups {
				targets += len(g.Targets)
			}
			if targets > MaxTargets {
				return nil, fmt.Errorf("%s: more than %d targets", path, MaxTargets)
			}
			out = append(out, groups...)
		}
	}
	return out, nil
}

func (f FileSD) paths() (out []string, err error) {
	for _, pattern := range f.Files {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func readFile(path string) ([]Group, error) {
	b, err := settings.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(bytes.ReplaceAll(b, []byte("\t"), []byte("  ")), &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list struct {
		Groups []Group `yaml:"groups"`
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	wrapped := &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "groups", Line: 1, Column: 1}, doc.Content[0]}}
	if err := settings.Decode("", wrapped, &list); err != nil {
		return nil, fmt.Errorf("%s:%w", path, settings.Problems(nil, err)[0])
	}
	return list.Groups, nil
}
