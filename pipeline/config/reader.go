package config

import (
	"slices"

	"github.com/quintet-dc/quintet/settings"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// Read reads a file and returns all its errors and warnings. The File is nil if
// there is an error.
func Read(path string) (*File, []Problem) {
	text, err := settings.ReadFile(path, maxFile)
	if err != nil {
		return nil, []Problem{{Path: path, Text: err.Error()}}
	}
	return Parse(path, string(text))
}

// Parse reads the text of a file.
func Parse(path, text string) (*File, []Problem) {
	c := &checker{path: path}
	n, err := settings.Document(text)
	if err != nil {
		return nil, []Problem{{Path: path, Text: err.Error()}}
	}
	f := &File{Path: path}
	c.problems = Former(path, settings.Rename(n, f))
	for _, p := range settings.Problems(n, settings.Decode("", n, f)) {
		c.problems = append(c.problems, Problem{Path: path, Line: p.Line, Column: p.Column, Text: p.Text})
	}
	if !slices.ContainsFunc(c.problems, wrong) && n != nil {
		c.check(n, f)
	}
	if slices.ContainsFunc(c.problems, wrong) {
		return nil, c.problems
	}
	return f, c.problems
}

func wrong(p Problem) bool { return !p.Doubt }

// Former warns of keys with former names, which were read by their present ones.
func Former(path string, keys []settings.Renamed) (out []Problem) {
	for _, k := range keys {
		out = append(out, Problem{Path: path, Line: k.Line, Column: k.Column, Text: k.String() + ": run quintet config migrate FILE", Doubt: true})
	}
	return out
}
