//go:build !service

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/replay"
)

// truthEnding is that of the truth next to a trace.
const truthEnding = ".truth.json"

// labelled replaces each folder of traces by the traces in it that have a truth
// beside them: the incidents that people gave a verdict on. Bundles and single
// traces stay as they are.
func labelled(paths []string) []string {
	var out []string
	for _, p := range paths {
		truths, err := filepath.Glob(filepath.Join(p, "*"+truthEnding))
		if err != nil || len(truths) == 0 {
			out = append(out, p)
			continue
		}
		slices.Sort(truths)
		for _, t := range truths {
			out = append(out, strings.TrimSuffix(t, truthEnding)+".qtrace")
		}
	}
	return out
}

// recordings returns the recordings that a glob matches: bundles with a truth,
// traces, and the traces with a truth in the folders that it matches. Other files
// are left out.
func recordings(pattern string) ([]string, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", pattern, err)
	}
	var out []string
	for _, m := range labelled(matches) {
		if _, err := os.Stat(filepath.Join(m, replay.TruthFile)); err == nil || filepath.Ext(m) == ".qtrace" {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
