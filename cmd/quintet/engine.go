package main

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/rules"
)

// engineConfig is the engine as every command of the recorded shell runs it:
// the signatures and the catalogue that are part of the program.
func engineConfig(slices int) (engine.Config, error) {
	set, err := rules.Standard()
	if err != nil {
		return engine.Config{}, fmt.Errorf("signatures: %w", err)
	}
	return engineOf(set, slices), nil
}

// engineOf is the engine of a set of signatures.
func engineOf(set rules.Set, slices int) engine.Config {
	return engine.Config{Slices: slices, Correlate: correlate.Config{
		Catalogue: set.Catalogue, Signatures: set.Signatures, Rules: set.Digest,
	}}
}
