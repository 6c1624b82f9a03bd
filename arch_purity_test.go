package quintet_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// pure reports whether a package belongs to the pure wing: the engine and the
// simulated physics, which must give the same answer from the same input on
// every machine. Packages of tests apart.
func pure(name string) bool {
	return (within(name, "correlate") || within(name, "lab/sim")) && !strings.HasSuffix(name, "test")
}

// pureImports is all that the pure wing may take from the standard library.
// There is no clock, goroutine, lock, logger, randomness or I/O in them that
// pureNames does not exclude.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors",
	"fmt", "hash/crc32", "hash/fnv", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

// pureNames lists, for packages of pureImports that hold more than pure
// functions, the functions and variables that may be used. Types and constants
// of them are free. Of math only what gives the same bits on every machine
// (I7).
var pureNames = map[string][]string{
	"math": {"Sqrt", "Abs", "Floor", "Ceil", "Trunc", "Inf", "IsInf", "IsNaN", "NaN", "Float64bits", "Float64frombits", "Float32bits", "Float32frombits"},
	"time": {},
	"fmt":  {"Sprintf", "Sprint", "Sprintln", "Errorf", "Append", "Appendf", "Appendln", "Fprint", "Fprintf", "Fprintln"}, // no writer but buffers can be had
	"maps": {"Clone", "Copy", "DeleteFunc", "Equal", "EqualFunc", "Keys", "Values"},
}

// orderFree is the comment that permits a range over a map: on the line of the
// loop or the line above, with the reason why no output depends on the order.
const orderFree = "order-independent:"

// purityRules are the rules of the pure wing.
var purityRules = []func(*pkg) []violation{impureImports, impureNames, concurrency, mapRanges, fusable, runningSums}

func TestPurity(t *testing.T) {
	for _, p := range open(t).packages {
		if pure(p.name) && p.types != nil {
			for _, rule := range purityRules {
				report(t, rule(p))
			}
		}
	}
}

// TestFactsAreExact holds telemetry to the rules of the pure wing as well,
// because facts must reach the engine unchanged; but for the names, since it
// converts times to and from text.
func TestFactsAreExact(t *testing.T) {
	for _, p := range open(t).packages {
		if p.name == "telemetry" && p.types != nil {
			for _, rule := range []func(*pkg) []violation{impureImports, concurrency, mapRanges, fusable} {
				report(t, rule(p))
			}
		}
	}
}

func report(t *testing.T, vs []violation) {
	t.Helper()
	for _, v := range vs {
		t.Error(v)
	}
}

// impureImports finds imports of the standard library outside pureImports.
// Others are the import table's.
func impureImports(p *pkg) (out []violation) {
	for f := range p.code() {
		for _, spec := range f.ast.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if !strings.Contains(path, ".") && !slices.Contains(pureImports, path) {
				out = append(out, p.violation(spec, "import of %s in the pure wing", path))
			}
		}
	}
	return out
}

// impureNames finds functions and variables outside pureNames.
func impureNames(p *pkg) (out []violation) {
	p.inspect(func(n ast.Node, _ []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		obj := p.info.Uses[id]
		if obj == nil || obj.Pkg() == nil {
			if b, ok := obj.(*types.Builtin); ok && strings.HasPrefix(b.Name(), "print") {
				out = append(out, p.violation(n, "%s in the pure wing", b.Name()))
			}
			return
		}
		names, listed := pureNames[obj.Pkg().Path()]
		if listed && topLevel(obj) && !slices.Contains(names, obj.Name()) {
			out = append(out, p.violation(n, "%s.%s in the pure wing", obj.Pkg().Path(), obj.Name()))
		}
	})
	return out
}

// topLevel reports whether obj is a function or variable of its package's
// scope, as opposed to a method, field, type or constant.
func topLevel(obj types.Object) bool {
	switch obj.(type) {
	case *types.Func, *types.Var:
		return obj.Parent() == obj.Pkg().Scope()
	}
	return false
}

// concurrency finds goroutines and everything of channels.
func concurrency(p *pkg) (out []violation) {
	p.inspect(func(n ast.Node, _ []ast.Node) {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, p.violation(n, "go statement in the pure wing"))
		case *ast.SelectStmt:
			out = append(out, p.violation(n, "select in the pure wing"))
		case *ast.ChanType:
			out = append(out, p.violation(n, "channel in the pure wing"))
		case *ast.SendStmt:
			out = append(out, p.violation(n, "send in the pure wing"))
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				out = append(out, p.violation(n, "receive in the pure wing"))
			}
		}
	})
	return out
}

// mapRanges finds loops over maps without a reason, and maps.Keys and
// maps.Values that are not sorted on the spot. Their order differs from run to
// run.
func mapRanges(p *pkg) (out []violation) {
	reasons := p.reasons()
	p.inspect(func(n ast.Node, above []ast.Node) {
		switch n := n.(type) {
		case *ast.RangeStmt:
			pos := p.fset.Position(n.Pos())
			if _, ok := p.info.TypeOf(n.X).Underlying().(*types.Map); ok && !reasons[pos.Filename][pos.Line] && !reasons[pos.Filename][pos.Line-1] {
				out = append(out, p.violation(n, "range over a map: sort its keys, or say '// %s why'", orderFree))
			}
		case *ast.CallExpr:
			if f := p.callee(n); (f == "maps.Keys" || f == "maps.Values") && !p.sortedAtOnce(above) {
				out = append(out, p.violation(n, "%s without slices.Sorted around it", f))
			}
		}
	})
	return out
}

// reasons returns, by file, the lines with a comment that permits a map range.
func (p *pkg) reasons() map[string]map[int]bool {
	out := map[string]map[int]bool{}
	for f := range p.code() {
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				if _, why, ok := strings.Cut(c.Text, orderFree); ok && strings.TrimSpace(why) != "" {
					pos := p.fset.Position(c.Pos())
					if out[pos.Filename] == nil {
						out[pos.Filename] = map[int]bool{}
					}
					// A comment of several lines permits the loop under its last.
					out[pos.Filename][pos.Line], out[pos.Filename][p.fset.Position(g.End()).Line] = true, true
				}
			}
		}
	}
	return out
}

func (p *pkg) sortedAtOnce(above []ast.Node) bool {
	call, ok := parent(above).(*ast.CallExpr)
	return ok && slices.Contains([]string{"slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc"}, p.callee(call))
}

// callee returns "package.Function" of a call to a package's function.
func (p *pkg) callee(call *ast.CallExpr) string {
	fun := call.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := p.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Parent() != f.Pkg().Scope() {
		return ""
	}
	return f.Pkg().Path() + "." + f.Name()
}

// fusable finds floating-point products that a compiler may fuse with a sum
// (I7). The language lets it do so even across statements ("t = x*y; r = t+z"),
// and through inlined calls, unless the product is rounded by an explicit
// conversion. So a product must be written float64(a*b) or float32(a*b),
// except where no sum can follow it: under another product, a quotient, a
// comparison or a conversion to an integer. Constants are exact already.
func fusable(p *pkg) (out []violation) {
	p.inspect(func(n ast.Node, above []ast.Node) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.MUL && p.floating(n) && !p.rounded(above) {
				out = append(out, p.violation(n, "float product not rounded: write float64(a*b)"))
			}
		case *ast.AssignStmt:
			if n.Tok == token.MUL_ASSIGN && p.floating(n.Lhs[0]) {
				out = append(out, p.violation(n, "float product not rounded: write x = float64(x*y)"))
			}
		}
	})
	return out
}

// floating reports whether e is a variable expression of a floating or complex
// type.
func (p *pkg) floating(e ast.Expr) bool {
	tv := p.info.Types[e]
	if tv.Value != nil && tv.Value.Kind() != constant.Unknown {
		return false
	}
	return tv.Type != nil && isFloat(tv.Type)
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	if ok {
		return b.Info()&(types.IsFloat|types.IsComplex) != 0
	}
	_, generic := t.Underlying().(*types.Interface) // a type parameter may be a float
	return generic
}

// rounded reports whether the product under these nodes is rounded, or cannot
// meet a sum.
func (p *pkg) rounded(above []ast.Node) bool {
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.UnaryExpr:
			if n.Op == token.SUB || n.Op == token.ADD {
				continue
			}
			return false
		case *ast.BinaryExpr:
			switch n.Op {
			case token.MUL, token.QUO, token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
				return true
			}
			return false
		case *ast.CallExpr:
			return p.info.Types[n.Fun].IsType()
		default:
			return false
		}
	}
	return false
}

// TestI6NoStatisticSubtractsWhatItAdded: see runningSums and correlate/doc.go.
func TestI6NoStatisticSubtractsWhatItAdded(t *testing.T) {
	for _, p := range open(t).packages {
		if pure(p.name) && p.types != nil {
			report(t, runningSums(p))
		}
	}
}

// runningSums finds floating fields, or elements of fields, that a package both
// adds to and subtracts from (I6): what was added leaves a rounding error
// behind when it is subtracted again, so the state depends on the whole past.
// Local variables are free: they do not outlive a sum.
func runningSums(p *pkg) (out []violation) {
	added, subtracted := map[types.Object]bool{}, map[types.Object]ast.Node{}
	p.inspect(func(n ast.Node, _ []ast.Node) {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 1 || !p.floating(a.Lhs[0]) {
			return
		}
		field := p.field(a.Lhs[0])
		if field == nil {
			return
		}
		switch op := p.selfOperation(a); op {
		case token.ADD:
			added[field] = true
		case token.SUB:
			subtracted[field] = a
		}
	})
	for _, field := range slices.SortedFunc(maps.Keys(subtracted), func(a, b types.Object) int { return int(a.Pos() - b.Pos()) }) {
		if added[field] {
			out = append(out, p.violation(subtracted[field], "%s is added to elsewhere: sum its buckets afresh", field.Name()))
		}
	}
	return out
}

// field returns the struct field at the end of x.f, x.f[i] and the like.
func (p *pkg) field(e ast.Expr) types.Object {
	for {
		switch n := e.(type) {
		case *ast.ParenExpr:
			e = n.X
		case *ast.IndexExpr:
			e = n.X
		case *ast.SelectorExpr:
			if v, ok := p.info.Uses[n.Sel].(*types.Var); ok && v.IsField() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}

// selfOperation returns ADD for x += y and x = x + y, SUB for x -= y and
// x = x - y.
func (p *pkg) selfOperation(a *ast.AssignStmt) token.Token {
	switch a.Tok {
	case token.ADD_ASSIGN:
		return token.ADD
	case token.SUB_ASSIGN:
		return token.SUB
	}
	b, ok := a.Rhs[0].(*ast.BinaryExpr)
	if ok && types.ExprString(b.X) == types.ExprString(a.Lhs[0]) {
		return b.Op
	}
	return token.ILLEGAL
}

func parent(above []ast.Node) ast.Node {
	if len(above) == 0 {
		return nil
	}
	return above[len(above)-1]
}

// inspect walks the files without tests, outer nodes first.
func (p *pkg) inspect(visit func(n ast.Node, above []ast.Node)) {
	for f := range p.code() {
		var above []ast.Node
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			visit(n, above)
			above = append(above, n)
			return true
		})
	}
}
