// Package csv imports bundles: folders of plain files, with samples as CSV.
//
// It owns the command; the format is that of replay/bundle.
package csv

import (
	"context"
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/importers/kind"
)

// Kind describes this importer.
func Kind() kind.Kind {
	return kind.Kind{
		Name:   "csv",
		Doc:    "Turn a bundle, a folder of plain files, into a trace.",
		Reads:  "a [bundle](format-bundle.md): `samples.csv` or `samples.csv.gz`, `topology.json`, `events.csv`, `bundle.json`",
		Limits: "nothing that a recording has, where the folder has it",
		New:    func() kind.Settings { return new(settings) },
	}
}

// settings are the command's flags and arguments.
type settings struct {
	Dir     string `arg:"" help:"Folder with samples.csv or samples.csv.gz, topology.json and, if there are, events.csv and bundle.json."`
	Coarsen int    `default:"1" placeholder:"K" help:"Keep every K-th sample of each series; steps are kept whole."`
}

// Validate implements kind.Settings.
func (s *settings) Validate() error {
	info, err := os.Stat(s.Dir)
	switch {
	case err != nil:
		return fmt.Errorf("<dir>: %w", err)
	case !info.IsDir():
		return fmt.Errorf("<dir>: %s: not a folder", s.Dir)
	case s.Coarsen < 1:
		return fmt.Errorf("--coarsen: %d: want 1 or more", s.Coarsen)
	}
	return nil
}

// Read implements kind.Settings.
func (s *settings) Read(context.Context, kind.Environment) (*bundle.Bundle, error) {
	return bundle.OpenWith(s.Dir, bundle.Config{Coarsen: s.Coarsen})
}
