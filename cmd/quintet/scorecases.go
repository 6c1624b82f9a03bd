package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// truthEnding is that of the truth beside a trace.
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
