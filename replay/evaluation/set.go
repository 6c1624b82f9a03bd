package evaluation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Set names cases that are scored together: one row of the table.
type Set struct {
	Name    string  // of the row, such as "site-b/x3"
	Pattern string  // of recordings: a glob of paths; empty for the lab's own cases
	Lab     LabName // of the lab's own cases; zero for recordings
	Coarsen int     // every how many-th sample is kept; 1 keeps all
}

// LabName names a set of the lab's own cases: "standard", or a kind with a value
// such as "soak=24".
type LabName struct{ Kind, Value string }

const (
	labPrefix     = "lab:"
	coarsenSuffix = ":coarsen="
)

// ParseSet reads NAME=GLOB or lab:KIND[=VALUE], each with an optional
// :coarsen=K,K…, and returns one set for each factor. The sets of a factor above
// 1 are named NAME/xK.
func ParseSet(text string) ([]Set, error) {
	body, factors, err := CutCoarsen(text)
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", text, err)
	}
	s := Set{Coarsen: 1}
	if lab, ok := strings.CutPrefix(body, labPrefix); ok {
		s.Name = body
		s.Lab.Kind, s.Lab.Value, _ = strings.Cut(lab, "=")
		if s.Lab.Kind == "" {
			return nil, fmt.Errorf("set %q: name required after %q", text, labPrefix)
		}
	} else if s.Name, s.Pattern, ok = strings.Cut(body, "="); !ok || s.Name == "" || s.Pattern == "" {
		return nil, fmt.Errorf("set %q: want NAME=GLOB or %sNAME", text, labPrefix)
	}
	var out []Set
	for _, k := range factors {
		row := s
		if row.Coarsen = k; k > 1 {
			row.Name = fmt.Sprintf("%s/x%d", s.Name, k)
		}
		out = append(out, row)
	}
	return out, nil
}

// ParseSets reads several sets, whose names must differ.
func ParseSets(texts []string) ([]Set, error) {
	var out []Set
	known := map[string]bool{}
	for _, t := range texts {
		sets, err := ParseSet(t)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			if known[s.Name] {
				return nil, fmt.Errorf("set %q: duplicate name %q", t, s.Name)
			}
			known[s.Name] = true
			out = append(out, s)
		}
	}
	return out, nil
}

// CutCoarsen splits the factors off a set; 1 where none are stated.
func CutCoarsen(text string) (body string, factors []int, err error) {
	body, list, ok := strings.Cut(text, coarsenSuffix)
	if !ok {
		return body, []int{1}, nil
	}
	for _, f := range strings.Split(list, ",") {
		k, err := strconv.Atoi(f)
		if err != nil || k < 1 {
			return "", nil, fmt.Errorf("coarsen %q: want whole numbers from 1 on", list)
		}
		factors = append(factors, k)
	}
	if body == "" {
		return "", nil, errors.New("name required")
	}
	return body, factors, nil
}
