package collect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/collectors/standard"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/settings"
)

// ConfigCommand is what can be done with configuration files.
type ConfigCommand struct {
	Migrate migrateCommand `cmd:"" help:"Rewrite configuration files of earlier releases with today's keys, and print what changed. Comments are kept; the former file is kept as FILE.orig."`
}

type migrateCommand struct {
	DryRun bool     `help:"Print what would change, and change nothing."`
	Files  []string `arg:"" help:"Configuration files."`
}

// Run migrates every file.
func (c *migrateCommand) Run(sh *cli.Shell) error {
	var wrong []error
	for _, path := range c.Files {
		if err := c.file(sh, path); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(wrong...)
}

func (c *migrateCommand) file(sh *cli.Shell, path string) error {
	former, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, changes, err := Migrate(former)
	if err != nil {
		return err
	}
	for _, x := range changes {
		fmt.Fprintf(sh.Out, "%s:%d:%d: %v\n", path, x.Line, x.Column, x)
	}
	if len(changes) == 0 {
		fmt.Fprintf(sh.Out, "%s: nothing to change\n", path)
	}
	if c.DryRun || len(changes) == 0 {
		return nil
	}
	return replace(path, former, text)
}

// replace gives a file another content, and keeps the former next to it.
func replace(path string, former, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	kept, err := os.OpenFile(path+".orig", os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return fmt.Errorf("the former file is not kept: %w", err)
	}
	_, err = kept.Write(former)
	if err = errors.Join(err, kept.Sync(), kept.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, text, info.Mode().Perm()) // in place: it keeps its owner
}

// Migrate returns the text of a configuration with today's keys, and what it changed,
// in the order of the text. A text without former keys is returned as it is.
func Migrate(text []byte) ([]byte, []settings.Renamed, error) {
	if root, err := settings.Document(string(text)); err != nil || root == nil {
		return text, nil, err
	}
	doc, changes, err := renamed(text)
	if err != nil || len(changes) == 0 {
		return text, nil, err
	}
	slices.SortStableFunc(changes, func(a, b settings.Renamed) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err = errors.Join(e.Encode(doc), e.Close())
	return out.Bytes(), changes, err
}

// renamed returns the document with today's keys: that of a configuration, or of a
// mapping file, whichever has its keys and more former ones.
func renamed(text []byte) (doc *yaml.Node, changes []settings.Renamed, err error) {
	of := []any{config.File{}}
	for _, k := range standard.Kinds() {
		of = append(of, k.Mapping)
	}
	for i, form := range of {
		var n yaml.Node // has comments that belong to no key, too
		if err := yaml.Unmarshal(text, &n); err != nil {
			return nil, nil, err
		}
		root := n.Content[0]
		if form == nil || i > 0 && !knows(root, form) {
			continue
		}
		found := mapping.Rename(root, form)
		if at := settings.Find(root, "collectors"); i == 0 && at != root {
			found = append(found, entries(at)...)
		}
		if len(found) > len(changes) {
			doc, changes = &n, found
		}
	}
	return doc, changes, nil
}

// knows reports whether a form has every key of a document, under today's name or a
// former one.
func knows(root *yaml.Node, form any) bool {
	fields := settings.Fields(reflect.TypeOf(form))
	return !slices.ContainsFunc(settings.Keys(root), func(key string) bool {
		return !slices.ContainsFunc(fields, func(f settings.Field) bool {
			return f.Key == key || slices.ContainsFunc(f.Was, func(w settings.Former) bool { return w.Old == key })
		})
	})
}

// entries renames the keys of the entries of collectors, each by the struct of its
// kind.
func entries(n *yaml.Node) (changes []settings.Renamed) {
	for _, name := range settings.Keys(n) {
		k, ok := KindOf(name)
		if list := settings.Find(n, name); ok && list.Kind == yaml.SequenceNode {
			for _, item := range list.Content {
				for _, x := range settings.Rename(item, k.Settings) {
					x.Old, x.New = "collectors."+name+"."+x.Old, "collectors."+name+"."+x.New
					changes = append(changes, x)
				}
			}
		}
	}
	return changes
}
