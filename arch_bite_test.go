package quintet_test

import (
	"slices"
	"strings"
	"testing"
)

// bites proves every rule on a source that breaks it (want is part of the
// violation) and on its lawful neighbour (want is empty).
var bites = []struct {
	name, want string
	rule       func(*pkg) []violation
	src        string
}{
	{"clock package", "import of os in the pure wing", impureImports, `package p; import _ "os"`},
	{"lock", "import of sync in the pure wing", impureImports, `package p; import _ "sync"`},
	{"randomness", "import of math/rand/v2 in the pure wing", impureImports, `package p; import _ "math/rand/v2"`},
	{"logger", "import of log/slog in the pure wing", impureImports, `package p; import _ "log/slog"`},
	{"lawful import", "", impureImports, `package p; import _ "slices"`},

	{"dialect", `"told" in`, foreignWords, `package p; const s = "a frame cannot be told"`},
	{"dialect in a tag", `"Heard" in`, foreignWords, "package p; type t struct { f int `help:\"Heard of late.\"` }"},
	{"plain English", "", foreignWords, `package p; const s = "encoding a frame failed"`},
	{"an identifier of a format", "", foreignWords, `package p; const s = "told"`},

	{"clock", "time.Now in the pure wing", impureNames, `package p; import "time"; func f() any { return time.Now() }`},
	{"clock as a value", "time.Now in the pure wing", impureNames, `package p; import "time"; func f() func() time.Time { return time.Now }`},
	{"clock under another name", "time.Since in the pure wing", impureNames, `package p; import . "time"; func f(t Time) Duration { return Since(t) }`},
	{"lawful time", "", impureNames, `package p; import "time"; func f(d time.Duration) bool { return d > 3*time.Second && d.Seconds() < 9 }`},
	{"output", "fmt.Println in the pure wing", impureNames, `package p; import "fmt"; func f() { fmt.Println() }`},
	{"output by a builtin", "println in the pure wing", impureNames, `package p; func f() { println() }`},
	{"lawful formatting", "", impureNames, `package p; import "fmt"; func f(x int) error { return fmt.Errorf("f: %d", x) }`},
	{"mathematics of the machine", "math.Exp in the pure wing", impureNames, `package p; import "math"; func f(x float64) float64 { return math.Exp(x) }`},
	{"fused by hand", "math.FMA in the pure wing", impureNames, `package p; import "math"; func f(x float64) float64 { return math.FMA(x, x, x) }`},
	{"lawful mathematics", "", impureNames, `package p; import "math"; func f(x float64) float64 { return math.Sqrt(x) / math.Pi }`},

	{"goroutine", "go statement", concurrency, `package p; func f() { go f() }`},
	{"select", "select", concurrency, `package p; func f() { select {} }`},
	{"channel", "channel", concurrency, `package p; type t struct{ c chan int }`},
	{"send", "send", concurrency, `package p; type c chan int; func f(x c) { x <- 1 }`},
	{"receive", "receive", concurrency, `package p; type c chan int; func f(x c) { <-x }`},
	{"lawful address", "", concurrency, `package p; func f(x int) *int { return &x }`},

	{"map order", "range over a map", mapRanges, `package p; func f(m map[int]int) { for range m {} }`},
	{"map order of a named type", "range over a map", mapRanges, `package p; type m map[int]int; func f(x m) { for range x {} }`},
	{"map order without a reason", "range over a map", mapRanges, "package p\nfunc f(m map[int]int) {\n\t// order-independent:\n\tfor range m {}\n}"},
	{"map order with a reason elsewhere", "range over a map", mapRanges, "package p\nfunc f(m map[int]int) {\n\t// order-independent: a count\n\n\tfor range m {}\n}"},
	{"map order with a reason", "", mapRanges, "package p\nfunc f(m map[int]int) {\n\t// order-independent: a count\n\tfor range m {}\n}"},
	{"keys unsorted", "maps.Keys without", mapRanges, `package p; import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`},
	{"keys sorted", "", mapRanges, `package p; import ("maps"; "slices"); func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }`},
	{"lawful range", "", mapRanges, `package p; func f(m []int) { for range m {} }`},

	{"sum of a product", "float product", fusable, `package p; func f(a, b, c float64) float64 { return a*b + c }`},
	{"difference with a product", "float product", fusable, `package p; func f(a, b, c float32) float32 { return c - (a * b) }`},
	{"sum assigned", "float product", fusable, `package p; func f(a, b, c float64) float64 { c += a * b; return c }`},
	{"sum of a negated product", "float product", fusable, `package p; func f(a, b, c float64) float64 { return -(a * b) + c }`},
	{"product over statements", "float product", fusable, `package p; func f(a, b, c float64) float64 { t := a * b; return t + c }`},
	{"product assigned in place", "float product", fusable, `package p; func f(a, b, c float64) float64 { a *= b; return a + c }`},
	{"product through a call", "float product", fusable, `package p; func g(a, b float64) float64 { return a * b }; func f(a, c float64) float64 { return g(a, a) + c }`},
	{"product of a named type", "float product", fusable, `package p; type t float64; func f(a, b, c t) t { return a*b + c }`},
	{"product of a type parameter", "float product", fusable, `package p; func f[T float32 | float64](a, b, c T) T { return a*b + c }`},
	{"product rounded", "", fusable, `package p; func f(a, b, c float64) float64 { t := float64(a * b); return float64(t*b) + c }`},
	{"product under a quotient", "", fusable, `package p; func f(a, b, c float64) float64 { return a*b/c + c }`},
	{"product compared", "", fusable, `package p; func f(a, b, c float64) bool { return a*b > c }`},
	{"product of integers", "", fusable, `package p; func f(a, b, c int) int { return a*b + c }`},
	{"product of constants", "", fusable, `package p; const a, b = 1.5, 2.5; func f(c float64) float64 { return a*b + c }`},

	{"running sum", "sum is added to elsewhere", runningSums, `package p; type t struct{ sum float64 }; func (x *t) f(in, out float64) { x.sum += in; x.sum -= out }`},
	{"running sum spelt out", "sum is added to elsewhere", runningSums, `package p; type t struct{ sum []float32 }; func (x *t) f(in, out float32) { x.sum[0] = x.sum[0] + in; x.sum[0] = x.sum[0] - out }`},
	{"difference once", "", runningSums, `package p; type t struct{ a, b float64 }; func (x *t) f(y float64) { x.a += y; x.b -= y }`},
	{"count", "", runningSums, `package p; type t struct{ n int }; func (x *t) f() { x.n += 2; x.n -= 1 }`},
	{"local", "", runningSums, `package p; func f(x float64) float64 { y := x; y += 1; y -= 2; return y }`},

	{"no package comment", "0 package comments", packageComment, `package p`},
	{"package comment", "", packageComment, "// Package p is lawful.\npackage p"},
	{"comment of another", "does not begin", packageComment, "// Package q is not p.\npackage p"},
	{"drawer", "named for nothing", packageName, `package util`},
	{"long file", "file of 601 lines", sizes, "package p\n" + strings.Repeat("\n", 600)},
	{"long function", "function of 81 lines", sizes, "package p\nfunc f() {" + strings.Repeat("\n", 80) + "}"},
	{"long literal", "function of 81 lines", sizes, "package p\nvar f = func() {" + strings.Repeat("\n", 80) + "}"},
	{"function of the limit", "", sizes, "package p\nfunc f() {" + strings.Repeat("\n", 79) + "}"},
	{"init", "func init", inits, `package p; func init() {}`},
	{"method named init", "", inits, `package p; type t int; func (t) init() {}`},
	{"five parameters", "5 parameters", parameters, `package p; func F(a, b, c, d, e int) {}`},
	{"four parameters", "", parameters, `package p; func F(a, b, c, d int) {}`},

	{"map variable", "holds a map", mutableVariables, `package p; var v = map[int]int{}`},
	{"pointer variable", "holds a map, channel or pointer", mutableVariables, `package p; var v = new(int)`},
	{"map in a struct", "holds a map", mutableVariables, `package p; var v [2]struct{ m map[int]int }`},
	{"counter", "is written", mutableVariables, `package p; var v int; func f() { v++ }`},
	{"table written", "is written", mutableVariables, `package p; var v = []int{1}; func f() { v[0] = 2 }`},
	{"address taken", "is written", mutableVariables, `package p; var v [2]int; func f() *int { return &v[0] }`},
	{"method by address", "is written", mutableVariables, `package p; type t struct{ n int }; func (x *t) inc() { x.n++ }; var v t; func f() { v.inc() }`},
	{"exported variable", "is exported", mutableVariables, `package p; var V = 1`},
	{"table", "", mutableVariables, `package p; var v = [...]string{"a"}; func f(i int) string { return v[i] }`},
	{"error", "", mutableVariables, `package p; import "errors"; var ErrX = errors.New("x")`},
	{"assertion", "", mutableVariables, `package p; var _ any = new(int)`},
	{"embedded file", "", mutableVariables, "package p\n\n//go:embed x\nvar v map[string]string"},
}

func TestEveryRuleBites(t *testing.T) {
	h := open(t)
	for _, b := range bites {
		t.Run(b.name, func(t *testing.T) { bite(t, h.synthetic(t, "p.go", b.src), b.rule, b.want) })
	}
	t.Run("sleep", func(t *testing.T) {
		const src = `package p; import "time"; func f() { time.Sleep(1) }`
		bite(t, h.synthetic(t, "p_test.go", src), sleeps, "time.Sleep in a test")
	})
	t.Run("long test file", func(t *testing.T) {
		bite(t, h.synthetic(t, "p_test.go", "package p\n"+strings.Repeat("\n", 800)), sizes, "file of 801 lines")
	})
	t.Run("two package comments", func(t *testing.T) {
		p := h.synthetic(t, "p.go", "// Package p is one.\npackage p")
		p.files = append(p.files, h.synthetic(t, "q.go", "// Package p is two.\npackage p").files...)
		bite(t, p, packageComment, "2 package comments")
	})
}

func bite(t *testing.T, p *pkg, rule func(*pkg) []violation, want string) {
	t.Helper()
	got := rule(p)
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("lawful source refused: %v", got)
	case want != "" && !slices.ContainsFunc(got, func(v violation) bool { return strings.Contains(v.what, want) }):
		t.Errorf("got %v, want a violation with %q", got, want)
	}
}

// synthetic makes a package of one source.
func (h *house) synthetic(t *testing.T, path, src string) *pkg {
	t.Helper()
	f, err := parseFile(h.fset, path, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	p := &pkg{name: "synthetic", fset: h.fset, files: []*file{f}}
	// Imports of the standard library that the module itself does not use
	// cannot be resolved; the rules that need types do not need those.
	_ = h.check(p)
	return p
}

func TestImportTableBites(t *testing.T) {
	standard := map[string]bool{"os": true}
	allowed, err := parseTable("a: b example.com/x\nb:")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    pkg
		want string
	}{
		{pkg{name: "z"}, "package z has no line in the import table"},
		{pkg{name: "b", imports: []string{module + "/a"}}, "package b may not import " + module + "/a"},
		{pkg{name: "b", imports: []string{"example.com/x"}}, "package b may not import example.com/x"},
		{pkg{name: "a", imports: []string{"example.com/xy"}}, "package a may not import example.com/xy"},
		{pkg{name: "a", imports: []string{module + "/b", "example.com/x/y", "os"}}, ""},
	} {
		if got := strings.Join(importViolations(&c.p, allowed, standard), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.p.name, got, c.want)
		}
	}
	if _, err := parseTable("a b"); err == nil {
		t.Error("a line without a colon was accepted")
	}
}

func TestPolicyBites(t *testing.T) {
	for text, want := range map[string]string{
		"collectors/gnmi: x\nx: correlate\ncorrelate:": "collectors/gnmi reaches correlate: a collector cannot conclude",
		"replay: engine\nengine: pipeline\npipeline:":  "replay reaches pipeline: two shells, one core",
		"pipeline: lab/sim\nlab/sim:":                  "pipeline reaches lab/sim: only cmd and tests may use the lab",
		"engine: xtest\nxtest:":                        "engine reaches xtest: only tests may use it",
		"engine: cmd/quintet\ncmd/quintet:":            "engine reaches cmd/quintet: commands are not libraries",
		"cmd/quintet: lab\nlab: lab/sim\nlab/sim:":     "",
	} {
		allowed, err := parseTable(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := policyViolations(allowed); (want == "") != (len(got) == 0) || want != "" && !slices.Contains(got, want) {
			t.Errorf("table %q: got %q, want %q", text, got, want)
		}
	}
}
