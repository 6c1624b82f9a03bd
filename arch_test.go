// Package quintet_test holds the house rules that a compiler does not check:
// which package may import which (this file), what the pure wing may do
// (arch_purity_test.go), and habits of form (arch_style_test.go).
//
// Each rule is a function from a parsed, type-checked package to violations.
// Each is run over the module and over a small source that must break it
// (arch_bite_test.go): a rule that cannot fail is no rule.
package quintet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/quintet-dc/quintet"

// table says what each package may import beside the standard library. It is
// policy, not description: a package without a line fails, and so does a line
// without a package. Names without a dot in their first part are ours; others
// are modules, each with its reason in docs/decisions.
//
// Tests may import anything of ours. The purity of correlate and lab/sim says
// what they may take from the standard library.
const table = `
# floor 0: facts
telemetry:
settings: go.yaml.in/yaml

# floor 1: mechanisms, pure
correlate/stats:
correlate/snapshot:  telemetry
correlate/window:    telemetry correlate/stats correlate/snapshot
correlate/detect:    telemetry correlate/stats correlate/snapshot correlate/window
correlate/topology:  telemetry correlate/snapshot
correlate/jobs:      telemetry correlate/stats correlate/snapshot
correlate/pace:      telemetry correlate/stats correlate/snapshot
correlate/fabric:    telemetry correlate/stats correlate/snapshot correlate/topology correlate/jobs
correlate/attribute: telemetry correlate/stats correlate/snapshot correlate/jobs
correlate/explain:   telemetry correlate/stats correlate/snapshot correlate/topology correlate/jobs correlate/fabric correlate/attribute
correlate/symptom:   telemetry correlate/stats correlate/snapshot correlate/topology correlate/jobs correlate/explain

# floor 2: the engine, the knowledge it interprets, the files it is fed from
correlate: telemetry correlate/stats correlate/snapshot correlate/window correlate/detect correlate/topology correlate/pace
correlate: correlate/jobs correlate/fabric correlate/attribute correlate/explain correlate/symptom
rules:          telemetry settings correlate/explain go.yaml.in/yaml
rules/fitting:  telemetry correlate/explain
rules/scaffold: telemetry
rules/scenario: telemetry correlate/explain
rules/prometheus:
rules/promlint: telemetry rules rules/prometheus go.yaml.in/yaml github.com/prometheus/prometheus github.com/prometheus/common
rules/promunit: go.yaml.in/yaml github.com/prometheus/prometheus github.com/prometheus/common

# floor 3: the runner and the recorded shell
engine/grants: telemetry
engine:        telemetry correlate correlate/attribute correlate/explain correlate/window engine/grants github.com/klauspost/compress
replay/trace:  telemetry github.com/klauspost/compress
replay/bundle: telemetry replay/trace github.com/klauspost/compress
replay/score:  telemetry correlate/explain
replay/evaluation: telemetry replay/score go.yaml.in/yaml
replay/export: telemetry github.com/parquet-go/parquet-go
replay/importers/kind: replay/bundle
replay/importers/standard: replay/importers/kind replay/importers/*
replay/importers/*: replay/importers/kind replay/bundle
replay/importers/prometheus: telemetry collectors collectors/book collectors/dial collectors/mapping github.com/prometheus/client_golang github.com/prometheus/common
replay/answer: telemetry correlate/detect correlate/explain
replay:        telemetry correlate correlate/detect correlate/explain engine replay/trace replay/bundle replay/score

replay/play:   telemetry replay
replay/deck:   telemetry correlate/explain replay replay/play
replay/whatif:

# collectors: they emit into a Sink and know nothing else of ours
# (collectors/*: every folder with a kind.go, whether or not it has a line)
collectors/*:              telemetry settings collectors collectors/discovery collectors/book collectors/dial collectors/kind collectors/mapping collectors/weigh go.yaml.in/yaml
collectors:                telemetry github.com/VictoriaMetrics/metrics
collectors/sysfs/ethtool:
collectors/weigh:           google.golang.org/protobuf
collectors/kind:           settings collectors collectors/dial go.yaml.in/yaml
collectors/dial:           settings
collectors/discovery:      settings go.yaml.in/yaml
collectors/book:           telemetry collectors
collectors/fabric:         collectors/fabric/ibdiag
collectors/fabric/ibdiag:
collectors/nvml:           github.com/NVIDIA/go-nvml
collectors/gnmi:           github.com/openconfig/gnmi google.golang.org/grpc google.golang.org/protobuf
collectors/sysfs:          collectors/sysfs/ethtool
collectors/mapping:        telemetry collectors collectors/book settings go.yaml.in/yaml
collectors/receive:        github.com/prometheus/prometheus github.com/golang/snappy
collectors/receive:        go.opentelemetry.io/collector/pdata google.golang.org/grpc
collectors/scrape:         github.com/prometheus/prometheus
collectors/standard:       collectors/kind collectors/*
collectors/collectorstest: telemetry collectors go.yaml.in/yaml github.com/VictoriaMetrics/metrics

# the live shell
pipeline/role:
pipeline/crew:
pipeline/child: github.com/VictoriaMetrics/metrics
pipeline/broker:   settings pipeline/bus pipeline/role github.com/nats-io/nats-server/v2 github.com/nats-io/jwt/v2 github.com/nats-io/nkeys
pipeline/bus:      telemetry github.com/nats-io/nats.go github.com/nats-io/nkeys github.com/VictoriaMetrics/metrics
pipeline/outbox:   telemetry pipeline/bus pipeline/outbox/spill pipeline/outbox/thin github.com/VictoriaMetrics/metrics
pipeline/outbox/spill: telemetry pipeline/outbox/thin
pipeline/outbox/thin:  telemetry
pipeline/ticker:   telemetry pipeline/bus github.com/VictoriaMetrics/metrics
pipeline/exposition: github.com/VictoriaMetrics/metrics github.com/prometheus/client_golang github.com/prometheus/common
pipeline/survey:   telemetry correlate/explain
pipeline/replica:  telemetry correlate correlate/attribute correlate/explain correlate/window engine pipeline/bus github.com/nats-io/nats.go github.com/VictoriaMetrics/metrics
pipeline/replica:  pipeline/survey engine/grants
pipeline/status:   telemetry correlate/explain pipeline/survey pipeline/notify/match
pipeline/recorder: telemetry correlate/explain correlate/window engine engine/grants replay/trace pipeline/bus github.com/VictoriaMetrics/metrics
pipeline/notify/match:   telemetry correlate/explain
pipeline/notify/silence: telemetry pipeline/bus pipeline/notify/match github.com/nats-io/nats.go
pipeline/notify/graph:   telemetry pipeline/notify/match
pipeline/notify:   telemetry correlate/explain pipeline/bus pipeline/exposition pipeline/notify/match pipeline/notify/graph github.com/nats-io/nats.go github.com/VictoriaMetrics/metrics
pipeline/notify/raise:   telemetry correlate/explain pipeline/bus pipeline/notify pipeline/notify/match github.com/nats-io/nats.go github.com/VictoriaMetrics/metrics
pipeline/egress:
pipeline/notify/post:         pipeline/notify pipeline/egress collectors/dial
pipeline/notify/text:         telemetry correlate/explain pipeline/notify
pipeline/notify/kind:         collectors/dial settings pipeline/egress pipeline/notify pipeline/notify/post pipeline/notify/text
pipeline/notify/*:            telemetry settings correlate/explain collectors/dial pipeline/egress pipeline/notify pipeline/notify/kind pipeline/notify/post pipeline/notify/text
pipeline/notify/standard:     pipeline/notify pipeline/notify/kind pipeline/notify/*
pipeline/notify/notifytest: telemetry correlate/explain engine pipeline/notify
pipeline/assist:   telemetry correlate/explain github.com/modelcontextprotocol/go-sdk
pipeline/pin:      telemetry correlate/explain pipeline/bus pipeline/recorder github.com/nats-io/nats.go github.com/VictoriaMetrics/metrics
pipeline/access: settings collectors/dial go.yaml.in/yaml golang.org/x/crypto github.com/coreos/go-oidc/v3 golang.org/x/oauth2
pipeline/serve:    pipeline/access collectors/dial telemetry correlate/explain engine pipeline/bus pipeline/replica pipeline/recorder pipeline/pin
pipeline/openapi:
client:
deploy/site: github.com/yuin/goldmark
pipeline/serve:    correlate/attribute pipeline/openapi pipeline/exposition golang.org/x/sync pipeline/status pipeline/survey pipeline/notify pipeline/notify/graph pipeline/notify/match pipeline/notify/silence
pipeline/serve:    github.com/nats-io/nats.go github.com/VictoriaMetrics/metrics
pipeline/agent: collectors collectors/dial collectors/receive pipeline/bus pipeline/config pipeline/crew pipeline/exposition pipeline/outbox github.com/VictoriaMetrics/metrics
pipeline: settings pipeline/access pipeline/agent pipeline/child pipeline/crew pipeline/exposition pipeline/egress pipeline/assist engine/grants
pipeline: telemetry correlate/explain engine pipeline/config pipeline/broker pipeline/bus pipeline/ticker pipeline/replica pipeline/recorder
pipeline: pipeline/notify pipeline/notify/graph pipeline/notify/kind pipeline/notify/standard
pipeline: pipeline/notify/silence pipeline/pin pipeline/serve collectors github.com/VictoriaMetrics/metrics
pipeline/store/label: telemetry github.com/prometheus/prometheus github.com/prometheus/common
pipeline/store/query: telemetry rules/prometheus github.com/prometheus/prometheus github.com/prometheus/client_golang github.com/prometheus/common
pipeline/store/forward: collectors/dial github.com/prometheus/prometheus github.com/prometheus/client_golang
pipeline/store:    settings pipeline/exposition telemetry correlate/explain engine/grants pipeline/bus pipeline/store/label pipeline/store/query pipeline/store/forward
pipeline/store:    github.com/prometheus/prometheus github.com/prometheus/client_golang github.com/prometheus/common github.com/VictoriaMetrics/metrics
pipeline: pipeline/store pipeline/store/forward pipeline/store/label pipeline/store/query pipeline/notify/raise
dashboards/web:
dashboards/web/browsertest:
deploy:
deploy/image:
deploy/sbom:

# floor 4: the command wires everything
pipeline/config: telemetry settings rules collectors/dial pipeline/access pipeline/egress pipeline/notify/match pipeline/notify/standard go.yaml.in/yaml
cmd/cli: settings github.com/alecthomas/kong
cmd/collect: settings cmd/cli pipeline/agent pipeline/config pipeline/role collectors collectors/dial collectors/kind go.yaml.in/yaml
cmd/collect: collectors/standard collectors/mapping
cmd/quintet-collect: cmd/cli cmd/collect github.com/alecthomas/kong
cmd/quintet: client cmd/cli cmd/collect lab/accuracy lab/cases lab/crosscheck lab/crosscheck/bundles lab/live lab/recorded lab/sim/fault lab/wire/exporter lab/wire/gnmi lab/wire/host lab/wire/kube lab/wire/logs lab/wire/nccl lab/wire/plan lab/wire/redfish lab/wire/slurm lab/wire/trainer pipeline/config collectors collectors/receive pipeline pipeline/broker pipeline/bus replay/play replay/whatif dashboards/web
cmd/quintet: telemetry correlate correlate/detect correlate/explain engine rules rules/scaffold rules/fitting rules/prometheus rules/promlint rules/promunit rules/scenario
cmd/quintet: engine/grants pipeline/assist pipeline/child pipeline/exposition pipeline/replica replay/deck github.com/modelcontextprotocol/go-sdk
cmd/quintet: pipeline/notify/standard pipeline/notify/webhook replay replay/trace replay/bundle replay/evaluation replay/score replay/answer replay/export replay/importers/kind replay/importers/standard collectors/mapping github.com/prometheus/client_golang github.com/alecthomas/kong go.yaml.in/yaml github.com/VictoriaMetrics/metrics

# what tests and benchmarks stand on, and the demo's recording
lab/recorded:
lab/load:                telemetry
lab/sim:
lab/sim/random:          correlate/stats
lab/sim/site:            telemetry
lab/sim/worlds:          telemetry correlate/stats lab/sim/random
lab/sim/condition:       lab/sim/site
lab/sim/state:           telemetry
lab/sim/measure:         telemetry lab/sim/random lab/sim/site lab/sim/state lab/sim/worlds
lab/sim/network:         correlate/stats lab/sim/random
lab/sim/heat:            correlate/stats lab/sim/random
lab/sim/gpu:             correlate/stats lab/sim/random
lab/sim/plant:           correlate/stats lab/sim/condition lab/sim/heat lab/sim/random lab/sim/site lab/sim/state lab/sim/worlds
lab/sim/fault:           correlate/stats lab/sim/condition lab/sim/plant lab/sim/random lab/sim/site lab/sim/worlds telemetry
lab/sim/work:            correlate/stats lab/sim/random
lab/sim/world:           telemetry correlate/stats lab/sim/random lab/sim/site lab/sim/condition lab/sim/state lab/sim/network lab/sim/heat
lab/sim/world:           lab/sim/gpu lab/sim/plant lab/sim/work lab/sim/worlds
lab/cases/baseline:      telemetry correlate/stats
lab/crosscheck:
lab/crosscheck/bundles:   lab/crosscheck
lab/accuracy:            telemetry correlate/stats correlate/explain replay/score lab/cases lab/cases/baseline
lab/cases: telemetry correlate/stats correlate/explain engine replay replay/score replay/trace lab/cases/baseline
lab/board:         telemetry
lab/wire/authority:
lab/wire/wiretest:
lab/wire/gnmi:     telemetry lab/board lab/wire/authority github.com/openconfig/gnmi google.golang.org/grpc
lab/live:          telemetry lab/board lab/cases lab/sim/fault
lab/wire/redfish:  telemetry lab/board lab/wire/authority
lab/wire/exporter: telemetry lab/board
lab/wire/ibsim:    telemetry lab/board
lab/wire/host:     telemetry lab/board
lab/wire/kube:     telemetry lab/board lab/wire/authority
lab/wire/logs:     telemetry lab/board
lab/wire/nccl:     telemetry lab/board
lab/wire/plan:     telemetry lab/board
lab/wire/slurm:    telemetry lab/board
lab/wire/trainer:  telemetry lab/board
lab/cases: lab/sim/condition lab/sim/fault lab/sim/measure lab/sim/random lab/sim/site lab/sim/state lab/sim/work lab/sim/world lab/sim/worlds
correlate/correlatetest: telemetry
engine/enginetest:       telemetry correlate correlate/detect rules engine replay/bundle
`

// never lists what no line of the table may bring about, not even through
// others. Patterns match a package or what lies in its folder. Packages of tests
// are free.
var never = []struct{ from, to, why string }{
	{"telemetry", "", "facts stand alone: a collector needs nothing else of ours"},
	{"cmd/quintet-collect", "engine", "it reads and sends: the engine, the log's server and the history are the service's"},
	{"cmd/quintet-collect", "pipeline/broker", "it connects to a log and serves none"},
	{"cmd/quintet-collect", "pipeline/store", "it keeps no history"},
	{"cmd/quintet-collect", "pipeline/serve", "it has no page"},
	{"collectors", "correlate", "a collector cannot conclude"},
	{"collectors", "pipeline", "a collector runs on a host with nothing else; it emits into a Sink"},
	{"correlate", "collectors", "the engine must be replayable"},
	{"correlate", "pipeline", "the engine must be replayable"},
	{"correlate", "replay", "the engine must be replayable"},
	{"correlate", "engine", "the runner drives the engine, not the other way round"},
	{"engine", "pipeline", "both shells stand on the runner"},
	{"engine", "replay", "both shells stand on the runner"},
	{"replay", "pipeline", "two shells, one core"},
	{"pipeline", "replay/score", "two shells, one core"},
	{"replay/trace", "engine", "a file format knows records, not answers"},
}

// pkg is one package of the module as the rules see it.
type pkg struct {
	name    string // relative to the module: "correlate/window"; "" is the root
	imports []string
	fset    *token.FileSet
	files   []*file        // tests included
	types   *types.Package // nil where there is no code but tests, or err
	info    *types.Info
	err     error // it does not compile
}

// file is one parsed file.
type file struct {
	path      string // relative to the module root
	ast       *ast.File
	lines     int
	test      bool
	generated bool
}

// violation is one breach of one rule.
type violation struct {
	pos  token.Position
	what string
}

func (v violation) String() string { return fmt.Sprintf("%v: %s", v.pos, v.what) }

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export            string
	Standard                           bool
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports                            []string
	Error                              *struct{ Err string }
}

// house is the module, loaded once for all tests of this package.
type house struct {
	packages []*pkg
	importer types.Importer
	standard map[string]bool
	fset     *token.FileSet
}

var theHouse = sync.OnceValues(loadHouse)

func open(t *testing.T) *house {
	t.Helper()
	h, err := theHouse()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// loadHouse lists the module with the compiler's export data for every
// dependency, parses our files, and type-checks those of each package.
func loadHouse() (*house, error) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,Standard,GoFiles,TestGoFiles,XTestGoFiles,Imports,Error",
		"./...", "errors", "fmt", "maps", "math", "slices", "time") // what the sources of arch_bite_test.go import
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	h := &house{standard: map[string]bool{"unsafe": true, "C": true}, fset: token.NewFileSet()}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath], h.standard[l.ImportPath] = l.Export, l.Standard || h.standard[l.ImportPath]
		if l.ImportPath == module || strings.HasPrefix(l.ImportPath, module+"/") {
			ours = append(ours, l)
		}
	}
	h.importer = importer.ForCompiler(h.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %q", path)
		}
		return os.Open(exports[path])
	})
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, l := range ours {
		p, err := h.load(root, l)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", l.ImportPath, err)
		}
		h.packages = append(h.packages, p)
	}
	return h, nil
}

// load parses one package with its tests and type-checks it without them.
func (h *house) load(root string, l listed) (*pkg, error) {
	p := &pkg{name: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, module), "/"), imports: l.Imports, fset: h.fset}
	for _, name := range slices.Concat(l.GoFiles, l.TestGoFiles, l.XTestGoFiles) {
		full := filepath.Join(l.Dir, name)
		src, err := os.ReadFile(full)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return nil, err
		}
		f, err := parseFile(h.fset, filepath.ToSlash(rel), src)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	p.err = h.check(p)
	return p, nil
}

func parseFile(fset *token.FileSet, path string, src []byte) (*file, error) {
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{path: path, ast: f, lines: bytes.Count(src, []byte("\n")), test: strings.HasSuffix(path, "_test.go"), generated: ast.IsGenerated(f)}, nil
}

// check fills p's types from its files without tests.
func (h *house) check(p *pkg) error {
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}}
	var files []*ast.File
	for f := range p.code() {
		files = append(files, f.ast)
	}
	if len(files) == 0 {
		return nil
	}
	conf := types.Config{Importer: h.importer, GoVersion: "go1.26"}
	checked, err := conf.Check(module+"/"+p.name, p.fset, files, p.info)
	if err == nil {
		p.types = checked
	}
	return err
}

// code yields the files that are not tests.
func (p *pkg) code() func(func(*file) bool) {
	return func(yield func(*file) bool) {
		for _, f := range p.files {
			if !f.test && !yield(f) {
				return
			}
		}
	}
}

func (p *pkg) hasCode() bool {
	for range p.code() {
		return true
	}
	return false
}

func (p *pkg) violation(n ast.Node, format string, args ...any) violation {
	return violation{p.fset.Position(n.Pos()), fmt.Sprintf(format, args...)}
}

// within reports whether package name is folder or lies in it; everything lies
// in "".
func within(name, folder string) bool {
	return folder == "" || name == folder || strings.HasPrefix(name, folder+"/")
}

// parseTable reads the import table.
func parseTable(text string) (map[string][]string, error) {
	allowed := map[string][]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if line == "" {
			continue
		}
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("import table: line %q: want 'package: imports'", line)
		}
		allowed[name] = append(allowed[name], strings.Fields(list)...)
	}
	return allowed, nil
}

// expand replaces patterns such as "collectors/*", which stand for the folders that
// have a kind.go and so describe themselves: on the left by a line for each, on the
// right by their names. A new one needs no line unless it imports more.
func expand(allowed map[string][]string, packages []*pkg) {
	kinds := func(folder string) (out []string) {
		for _, p := range packages {
			if path.Dir(p.name) == folder && slices.ContainsFunc(p.files, func(f *file) bool { return path.Base(f.path) == "kind.go" }) {
				out = append(out, p.name)
			}
		}
		return out
	}
	for name, list := range maps.Clone(allowed) {
		if i := slices.IndexFunc(list, func(to string) bool { return strings.HasSuffix(to, "/*") }); i >= 0 {
			allowed[name] = append(slices.Delete(slices.Clone(list), i, i+1), kinds(strings.TrimSuffix(list[i], "/*"))...)
		}
	}
	for name, list := range maps.Clone(allowed) {
		if folder, ok := strings.CutSuffix(name, "/*"); ok {
			delete(allowed, name)
			for _, k := range kinds(folder) {
				allowed[k] = append(allowed[k], list...)
			}
		}
	}
}

// importViolations holds one package against the table.
func importViolations(p *pkg, allowed map[string][]string, standard map[string]bool) []string {
	list, ok := allowed[p.name]
	if !ok {
		return []string{fmt.Sprintf("package %s has no line in the import table", p.name)}
	}
	var out []string
	for _, path := range p.imports {
		ours, isOurs := strings.CutPrefix(path, module+"/")
		permitted := standard[path] || isOurs && slices.Contains(list, ours) ||
			!isOurs && slices.ContainsFunc(list, func(m string) bool { return within(path, m) })
		if !permitted {
			out = append(out, fmt.Sprintf("package %s may not import %s", p.name, path))
		}
	}
	return out
}

// reach returns everything of ours that name brings in.
func reach(name string, allowed map[string][]string) map[string]bool {
	seen := map[string]bool{}
	var walk func(string)
	walk = func(n string) {
		for _, to := range allowed[n] {
			if _, ours := allowed[to]; ours && !seen[to] {
				seen[to] = true
				walk(to)
			}
		}
	}
	walk(name)
	return seen
}

// policyViolations holds the table itself against what must never be.
func policyViolations(allowed map[string][]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		for _, to := range slices.Sorted(maps.Keys(reach(name, allowed))) {
			for _, n := range never {
				if within(name, n.from) && within(to, n.to) && !strings.HasSuffix(name, "test") {
					out = append(out, fmt.Sprintf("%s reaches %s: %s", name, to, n.why))
				}
			}
			out = append(out, folderViolations(name, to)...)
		}
	}
	return out
}

// folderViolations: only cmd and lab itself stand on lab; nothing but tests
// stands on a package of tests.
func folderViolations(name, to string) []string {
	var out []string
	if within(to, "lab") && !within(name, "lab") && !within(name, "cmd") {
		out = append(out, fmt.Sprintf("%s reaches %s: only cmd and tests may use the lab", name, to))
	}
	if strings.HasSuffix(to, "test") && !strings.HasSuffix(name, "test") {
		out = append(out, fmt.Sprintf("%s reaches %s: only tests may use it", name, to))
	}
	if within(to, "cmd") && !within(name, "cmd") {
		out = append(out, fmt.Sprintf("%s reaches %s: commands are not libraries", name, to))
	}
	return out
}

func TestImports(t *testing.T) {
	h := open(t)
	allowed, err := parseTable(table)
	if err != nil {
		t.Fatal(err)
	}
	expand(allowed, h.packages)
	present := map[string]bool{}
	for _, p := range h.packages {
		if p.err != nil {
			t.Errorf("package %s: no rule can be held against it: %v", p.name, p.err)
		}
		if !p.hasCode() {
			continue
		}
		present[p.name] = true
		for _, v := range importViolations(p, allowed, h.standard) {
			t.Error(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if !present[name] {
			t.Errorf("the import table has a line for %s, which is not there", name)
		}
	}
	for _, v := range policyViolations(allowed) {
		t.Error(v)
	}
}
