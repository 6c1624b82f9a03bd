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
	Thinning
}

// Thinning is what is left out of recordings.
type Thinning struct {
	Coarsen int // every how many-th sample is kept; 1 keeps all
	Missing int // three tenths of the metrics are left out, other ones for each number; 0 keeps all
}

// LabName names a set of the lab's own cases: "standard", or a kind with a value
// such as "soak=24".
type LabName struct{ Kind, Value string }

const (
	labPrefix     = "lab:"
	coarsenSuffix = ":coarsen="
	missingSuffix = ":missing="
)

// ParseSet reads NAME=GLOB or lab:KIND[=VALUE], each with an optional
// :coarsen=K,K…, and returns one set for each factor; or :missing=K,K…, and returns one without
// three tenths of the metrics for each number. The sets of a factor above 1 are named NAME/xK,
// those without some metrics NAME/mK.
func ParseSet(text string) ([]Set, error) {
	body, thinned, err := CutThinning(text)
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", text, err)
	}
	var s Set
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
	for _, t := range thinned {
		row := s
		switch row.Thinning = t; {
		case t.Missing > 0 && s.Pattern == "":
			return nil, fmt.Errorf("set %q: %s is of recordings", text, missingSuffix)
		case t.Missing > 0:
			row.Name = fmt.Sprintf("%s/m%d", s.Name, t.Missing)
		case t.Coarsen > 1:
			row.Name = fmt.Sprintf("%s/x%d", s.Name, t.Coarsen)
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

// CutThinning splits off a set what is left out of its recordings, one Thinning for each row;
// nothing where none is stated.
func CutThinning(text string) (body string, out []Thinning, err error) {
	suffix := coarsenSuffix
	body, list, ok := strings.Cut(text, suffix)
	if !ok {
		suffix = missingSuffix
		if body, list, ok = strings.Cut(text, suffix); !ok {
			return body, []Thinning{{Coarsen: 1}}, nil
		}
	}
	for _, f := range strings.Split(list, ",") {
		k, err := strconv.Atoi(f)
		if err != nil || k < 1 {
			return "", nil, fmt.Errorf("%s %q: want whole numbers from 1 on", strings.Trim(suffix, ":="), list)
		}
		t := Thinning{Coarsen: k}
		if suffix == missingSuffix {
			t = Thinning{Coarsen: 1, Missing: k}
		}
		out = append(out, t)
	}
	if body == "" {
		return "", nil, errors.New("name required")
	}
	return body, out, nil
}
