package quintet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHTTPServersBoundSlowRequests: every server of ours says how long a header, a body
// and an idle connection may take and how large a header may be, so that a client which
// sends a byte a minute holds nothing for long. The simulated site answers on loopback
// and is left out.
func TestHTTPServersBoundSlowRequests(t *testing.T) {
	servers := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"node_modules", "testdata", "lab", "grafana", ".git", "bin"}, e.Name()):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || !isHTTPServer(lit.Type) {
				return true
			}
			servers++
			for _, key := range []string{"ReadHeaderTimeout", "ReadTimeout", "IdleTimeout", "MaxHeaderBytes"} {
				if !slices.ContainsFunc(lit.Elts, func(x ast.Expr) bool { return isKey(x, key) }) {
					t.Errorf("%s: http.Server without %s", path, key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || servers < 2 {
		t.Errorf("%d servers, %v", servers, err)
	}
}

func isHTTPServer(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Server" {
		return false
	}
	from, ok := s.X.(*ast.Ident)
	return ok && from.Name == "http"
}

func isKey(x ast.Expr, key string) bool {
	kv, ok := x.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	id, ok := kv.Key.(*ast.Ident)
	return ok && id.Name == key
}
