package rules

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// FileName is the name of a signature's file in its folder.
const FileName = "signature.yaml"

// maxFile bounds a signature's file: a hostile one must not fill memory.
const maxFile = 1 << 20

//go:embed all:signatures
var files embed.FS

// Files returns the files that are part of the program: signatures and their
// scenarios.
func Files() fs.FS { return folder{mustSub(files, "signatures"), "rules/signatures"} }

func mustSub(f fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(f, dir)
	if err != nil {
		panic(err) // the constant path above is valid
	}
	return sub
}

// folder is a file system that knows what to call itself in a problem.
type folder struct {
	fs.FS
	name string
}

// Dir returns the files under a folder of the host, or those of the folder
// that a file lies in. Problems name them by this path.
func Dir(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if !info.IsDir() {
		name = filepath.Dir(name)
	}
	return folder{os.DirFS(name), filepath.ToSlash(name)}, nil
}

// called returns how a file is called in a problem.
func called(f fs.FS, name string) string {
	if d, ok := f.(folder); ok {
		return path.Join(d.name, name)
	}
	return name
}

// Set is signatures, the catalogue with the metrics that their folders declare, the
// digest by which both are known, and what is doubtful in them: former names, say.
type Set struct {
	Signatures []explain.Signature
	Catalogue  *telemetry.Catalogue
	Digest     string
	Warnings   Problems
}

// Standard returns what is part of the program: what an engine's configuration asks for.
func Standard() (Set, error) { return Load(Files()) }

// Load reads every signature.yaml under each root, and the metrics.yaml beside them,
// and returns the signatures by name. Where two roots have a signature of one name the
// later root's replaces the other, so that a site can change one of ours; within a root
// it is an error. A root's priors.yaml sets priors of what was read by then. The error
// is a Problems.
func Load(roots ...fs.FS) (Set, error) {
	set, declared, problems := read(roots)
	if bad := problems.errors(); len(bad) > 0 {
		return Set{}, bad
	}
	sigs := make([]explain.Signature, len(set))
	for i, s := range set {
		sigs[i] = s.Signature
	}
	return Set{sigs, declared.catalogue, Digest(sigs, declared.more...), problems}, nil
}

// Check returns everything that is wrong or missing in the signatures under
// the roots, warnings too, by file, line and column.
func Check(roots ...fs.FS) Problems {
	_, _, problems := read(roots)
	return problems
}

// read loads and checks all roots.
func read(roots []fs.FS) (set []*parsed, declared metrics, problems Problems) {
	declared, problems = readMetrics(roots)
	v := vocabulary{measures: explain.Measures(), catalogue: declared.catalogue}
	for _, root := range roots {
		own, ps := readRoot(root, v)
		problems = append(problems, ps...)
		set = slices.DeleteFunc(set, func(s *parsed) bool { return find(own, s.Name) != nil })
		set = append(set, own...)
		found, _, ps := readWeights(root)
		problems = append(append(problems, ps...), setWeights(set, called(root, WeightsName), found)...)
		priors, _, ps := readPriors(root)
		problems = append(append(problems, ps...), setPriors(set, called(root, PriorsName), priors)...)
	}
	slices.SortFunc(set, func(a, b *parsed) int { return cmp.Compare(a.Name, b.Name) })
	setMissing(set, ours())
	join(set)
	problems = append(append(problems, families(set)...), soundWeights(set)...)
	slices.SortFunc(problems, Problem.compare)
	return set, declared, slices.Compact(problems)
}

func find(set []*parsed, name string) *parsed {
	for _, s := range set {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// readRoot reads the signatures under one root.
func readRoot(root fs.FS, v vocabulary) (set []*parsed, problems Problems) {
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			problems = append(problems, Problem{File: called(root, name), Severity: Error, Text: err.Error()})
			return nil
		}
		if d.IsDir() || d.Name() != FileName {
			return nil
		}
		r := reader{file: called(root, name)}
		if s := r.load(root, name, v); s != nil {
			if o := find(set, s.Name); o != nil {
				r.fail(s.at.name, "signature: %q is in %s too", s.Name, o.file)
			}
			set = append(set, s)
		}
		problems = append(problems, r.problems...)
		return nil
	})
	if _, priors, _ := readPriors(root); err == nil && len(set) == 0 && len(problems) == 0 && !priors {
		err = fmt.Errorf("no %s in it", FileName)
	}
	if err != nil {
		problems = append(problems, Problem{File: called(root, "."), Severity: Error, Text: err.Error()})
	}
	return set, problems
}

// load reads and checks one file; nil if it could not be read at all.
func (r *reader) load(root fs.FS, name string, v vocabulary) *parsed {
	info, err := fs.Stat(root, name)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%d bytes; at most %d", info.Size(), maxFile)
	}
	var b []byte
	if err == nil {
		b, err = fs.ReadFile(root, name)
	}
	if err != nil {
		r.problems = append(r.problems, Problem{File: r.file, Severity: Error, Text: err.Error()})
		return nil
	}
	s := r.signature(b)
	if s == nil {
		return nil
	}
	r.placeholders(s)
	s.fires, s.silent = scenarios(root, path.Dir(name))
	if len(r.problems.errors()) == 0 { // else it would repeat what is missing
		r.sound(s, v)
	}
	if dir := path.Base(path.Dir(r.file)); dir != "." && dir != s.Name && s.Name != "" {
		r.fail(s.at.name, "signature: %q lies in a folder named %q", s.Name, dir)
	}
	return s
}

// scenarios counts the scenario files in a folder.
func scenarios(root fs.FS, dir string) (fires, silent int) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".txtar") && strings.HasPrefix(e.Name(), "fires-") {
			fires++
		}
		if strings.HasSuffix(e.Name(), ".txtar") && strings.HasPrefix(e.Name(), "silent-") {
			silent++
		}
	}
	return fires, silent
}

// join lets a signature state its family alone: where it names one that does not name
// it, it becomes a member of that one's family.
func join(set []*parsed) {
	for _, s := range set {
		for _, name := range s.Family {
			o := find(set, name)
			if o == nil || o == s || slices.Contains(o.Family, s.Name) || !slices.Contains(s.Family, s.Name) {
				continue
			}
			base := o.Family
			if len(base) == 0 {
				base = []string{o.Name}
			}
			joined := append(slices.Clone(base), s.Name)
			for _, member := range append(base, s.Name) {
				if m := find(set, member); m != nil {
					m.Family = joined
				}
			}
			break // of another family it cannot be: families reports that
		}
	}
}

// families checks that look-alikes name each other: the same list in each.
func families(set []*parsed) (problems Problems) {
	for _, s := range set {
		r := reader{file: s.file}
		if len(s.Family) > 0 && !slices.Contains(s.Family, s.Name) {
			r.fail(s.at.family, "family: %s does not name itself", s.Name)
		}
		for i, name := range s.Family {
			o := find(set, name)
			switch {
			case slices.Contains(s.Family[:i], name):
				r.fail(s.at.family, "family: %s twice", name)
			case o == nil && !slices.Contains(faults(), name):
				r.warn(s.at.family, "family: no signature is named %q", name)
			case o != nil && !slices.Equal(o.Family, s.Family):
				r.fail(s.at.family, "family: not mutual: %s lists [%s], %s lists [%s]",
					s.Name, strings.Join(s.Family, " "), name, strings.Join(o.Family, " "))
			}
		}
		problems = append(problems, r.problems...)
	}
	return problems
}

// Digest returns 16 hex digits by which signatures, and metrics that their folders
// declare, are known: the same for the same contents, whatever order they are in and
// whatever file they come from.
func Digest(sigs []explain.Signature, more ...telemetry.Metric) string {
	sorted := slices.Clone(sigs)
	slices.SortFunc(sorted, func(a, b explain.Signature) int { return cmp.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range sorted {
		if err := enc.Encode(&sorted[i]); err != nil {
			fmt.Fprintf(&b, "%s: %v\n", sorted[i].Name, err) // an infinite number; Load lets none through
		}
	}
	for i := range more {
		fmt.Fprintf(&b, "%+v\n", more[i])
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:8])
}
