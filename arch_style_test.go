package quintet_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// Sizes, in lines: what the clean quarter of the field keeps.
const (
	maxFunction   = 80
	maxFile       = 600
	maxTestFile   = 800
	maxParameters = 4 // of an exported function; more is a Config
)

// drawers are package names that say nothing and so collect everything.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared", "lib", "internal"}

// styleRules hold everywhere.
var styleRules = []func(*pkg) []violation{packageComment, packageName, sizes, sleeps, inits, mutableVariables, parameters}

func TestStyle(t *testing.T) {
	for _, p := range open(t).packages {
		for _, rule := range styleRules {
			report(t, rule(p))
		}
	}
}

// packageComment wants exactly one package comment, in the usual form.
func packageComment(p *pkg) (out []violation) {
	var first *file
	count := 0
	for f := range p.code() {
		if first == nil {
			first = f
		}
		if f.ast.Doc == nil {
			continue
		}
		count++
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(f.ast.Doc.Text(), want) {
			out = append(out, p.violation(f.ast, "package comment does not begin with %q", want))
		}
	}
	if first != nil && count != 1 {
		out = append(out, p.violation(first.ast, "package %s has %d package comments, want 1", p.name, count))
	}
	return out
}

// packageName refuses drawers.
func packageName(p *pkg) (out []violation) {
	for f := range p.code() {
		if slices.Contains(drawers, f.ast.Name.Name) || slices.Contains(drawers, path.Base(p.name)) {
			return []violation{p.violation(f.ast, "package %s is named for nothing it holds", p.name)}
		}
	}
	return nil
}

// sizes bounds files and functions.
func sizes(p *pkg) (out []violation) {
	for _, f := range p.files {
		limit := maxFile
		if f.test {
			limit = maxTestFile
		}
		if f.generated {
			continue
		}
		if f.lines > limit {
			out = append(out, p.violation(f.ast, "file of %d lines, at most %d", f.lines, limit))
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				if lines := p.fset.Position(n.End()).Line - p.fset.Position(n.Pos()).Line + 1; lines > maxFunction {
					out = append(out, p.violation(n, "function of %d lines, at most %d", lines, maxFunction))
				}
			}
			return true
		})
	}
	return out
}

// sleeps finds time.Sleep in tests: pure code takes ticks, shells run under
// testing/synctest.
func sleeps(p *pkg) (out []violation) {
	for _, f := range p.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !f.test || sel.Sel.Name != "Sleep" {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" {
				out = append(out, p.violation(n, "time.Sleep in a test"))
			}
			return true
		})
	}
	return out
}

// inits finds init functions: main passes what a package needs.
func inits(p *pkg) (out []violation) {
	for f := range p.code() {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				out = append(out, p.violation(fn, "func init"))
			}
		}
	}
	return out
}

// parameters bounds those of exported functions and methods.
func parameters(p *pkg) (out []violation) {
	for f := range p.code() {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Name.IsExported() && fn.Type.Params.NumFields() > maxParameters && !f.generated {
				out = append(out, p.violation(fn, "%s has %d parameters, at most %d: take a Config", fn.Name.Name, fn.Type.Params.NumFields(), maxParameters))
			}
		}
	}
	return out
}

// mutableVariables finds package-level variables that could hold state. What
// may stand there: errors, embedded files, and unexported tables of plain
// values that nothing in the package assigns to or takes the address of.
func mutableVariables(p *pkg) (out []violation) {
	if p.types == nil {
		return nil
	}
	written := p.written()
	for f := range p.code() {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				for _, name := range spec.Names {
					if why := p.variable(name, written, embedded(g, spec)); why != "" {
						out = append(out, p.violation(name, "package variable %s %s", name.Name, why))
					}
				}
			}
		}
	}
	return out
}

// variable says what is wrong with one package-level variable, or "".
func (p *pkg) variable(name *ast.Ident, written map[types.Object]bool, embedded bool) string {
	obj := p.info.Defs[name]
	switch {
	case name.Name == "_" || obj == nil || embedded:
		return ""
	case written[obj]:
		return "is written after its declaration"
	case types.Identical(obj.Type(), types.Universe.Lookup("error").Type()), immutablePointer(obj.Type()):
		return ""
	case name.IsExported():
		return "is exported and not an error"
	case mutable(obj.Type(), 0):
		return "holds a map, channel or pointer"
	}
	return ""
}

// immutablePointer knows the pointers of the standard library whose targets
// nobody can change.
func immutablePointer(t types.Type) bool {
	switch t.String() {
	case "*regexp.Regexp", "*hash/crc32.Table":
		return true
	}
	return false
}

// mutable reports whether a value of type t shares state that could change.
// Slices are taken for tables, because written finds their assignments.
func mutable(t types.Type, depth int) bool {
	if depth > 8 || immutablePointer(t) {
		return depth > 8
	}
	switch u := t.Underlying().(type) {
	case *types.Map, *types.Chan, *types.Pointer:
		return true
	case *types.Array:
		return mutable(u.Elem(), depth+1)
	case *types.Slice:
		return mutable(u.Elem(), depth+1)
	case *types.Struct:
		for v := range u.Fields() {
			if mutable(v.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

func embedded(g *ast.GenDecl, s *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{g.Doc, s.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// written returns the package-level variables that are assigned to, in whole
// or in part, or whose address is taken.
func (p *pkg) written() map[types.Object]bool {
	out := map[types.Object]bool{}
	mark := func(e ast.Expr) {
		if obj := p.rootVariable(e); obj != nil {
			out[obj] = true
		}
	}
	p.inspect(func(n ast.Node, _ []ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					mark(e)
				}
			}
		case *ast.IncDecStmt:
			mark(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				mark(n.X)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				mark(n.Key)
				mark(n.Value)
			}
		case *ast.SelectorExpr:
			p.markReceiver(n, mark)
		}
	})
	return out
}

// markReceiver marks x in x.Method where the method takes x by address.
func (p *pkg) markReceiver(n *ast.SelectorExpr, mark func(ast.Expr)) {
	s := p.info.Selections[n]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	_, byPointer := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	_, isPointer := s.Recv().(*types.Pointer)
	if byPointer && !isPointer {
		mark(n.X)
	}
}

// rootVariable returns the package-level variable at the root of x, x[i], x.f
// and the like.
func (p *pkg) rootVariable(e ast.Expr) types.Object {
	for {
		switch n := e.(type) {
		case *ast.ParenExpr:
			e = n.X
		case *ast.IndexExpr:
			e = n.X
		case *ast.SelectorExpr:
			e = n.X
		case *ast.SliceExpr:
			e = n.X
		case *ast.StarExpr:
			e = n.X
		case *ast.Ident:
			if v, ok := p.info.Uses[n].(*types.Var); ok && v.Parent() == p.types.Scope() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}
