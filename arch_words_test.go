package quintet_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// plainFolders hold the packages whose strings are read by people: errors, logs,
// help of commands and metrics, descriptions of tools.
var plainFolders = []string{"cmd", "pipeline", "collectors", "replay", "telemetry", "deploy"}

// dialect maps words that people had to read twice to those of the field
// (docs/glossary.md). Only prose is held to it: strings with a space, and documents.
var dialect = []struct{ words, instead string }{
	{`told|tells?|telling|untold`, "reported, reports; delivered; distinguishes"},
	{`says?|said|saying|unsaid|speaks?`, "reports, states; is"},
	{`heard|hears?|hearing`, "received, receiving; stale, no data"},
	{`witness(es)?|attested`, "corroborating evidence"},
	{`slight`, "below the single-sample threshold"},
	{`besides?`, "concurrent; in addition to; in FILE"},
	{`habits?`, "periodic pattern"},
	{`excuses?`, "expected activity"},
	{`rests|resting`, "back-off"},
	{`doses?`, "explained fraction"},
	{`afflicted`, "affected"},
	{`accuse[sd]?|suspicion|odd`, "suspect, anomaly"},
	{`innocent`, "ruled out"},
	{`clues?`, "feature, evidence"},
	{`hurts?`, "degrades, degraded"},
	{`strays?`, "diverges"},
	{`inherits?|inherited`, "restores"},
	{`stretch(es)?`, "job interval"},
	{`lies`, "is contained in"},
	{`patience`, "timeout"},
	{`dialling|dialled`, "connecting; concurrency"},
	{`anew|begins? cold`, "again; no history before this time"},
	{`nobody|somebody|whoever`, "name the process, person or receiver"},
	{`let us`, "permission denied"},
	{`elsewhere`, "redirect; another place"},
	{`at hand`, "available, found"},
	{`stands?`, "is; runs; precedes"},
	{`mended`, "corrected"},
	{`believed`, "ignored, trusted"},
	{`wants`, "requires"},
	{`ours`, "built-in, reserved"},
}

// dialectWords compiles dialect.
func dialectWords() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, d := range dialect {
		out = append(out, regexp.MustCompile(`(?i)\b(`+d.words+`)\b`))
	}
	return out
}

// formerNames are the old names of a setting, in its tag.
var formerNames = regexp.MustCompile(`\bwas:"[^"]*"`)

// foreignWords finds words of the dialect in the strings of a package.
func foreignWords(p *pkg) (out []violation) {
	words := dialectWords()
	for f := range p.code() {
		if f.generated {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			text = formerNames.ReplaceAllString(text, "")
			for i, w := range words {
				if found := w.FindString(text); found != "" {
					out = append(out, p.violation(lit, "%q in %.60q: use %s", found, text, dialect[i].instead))
				}
			}
			return true
		})
	}
	return out
}

// TestStringsArePlainEnglish holds what people read to the glossary.
func TestStringsArePlainEnglish(t *testing.T) {
	for _, p := range open(t).packages {
		for _, folder := range plainFolders {
			if within(p.name, folder) {
				report(t, foreignWords(p))
			}
		}
	}
}

// notProse is what of a document is not prose: code, and the addresses of links.
var notProse = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\([^)]*\\)")

// TestDocsArePlainEnglish holds the documents to the glossary, but for the glossary itself
// and pages that are lists of other files' titles.
func TestDocsArePlainEnglish(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	words := dialectWords()
	for _, file := range append(files, "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		if slices.Contains([]string{"docs/glossary.md", "docs/inference-rules.md", "docs/signatures.md"}, file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prose := notProse.ReplaceAllStringFunc(string(text), func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) })
		line := 0
		for l := range strings.Lines(prose) {
			line++
			for i, w := range words {
				if found := w.FindString(l); found != "" {
					t.Errorf("%s:%d: %q in %.80q: use %s", file, line, found, l, dialect[i].instead)
				}
			}
		}
	}
}

// metricLiteral is the name of a metric of this program, in a string.
var metricLiteral = regexp.MustCompile(`^quintet_(?:alerts|bus|collectors|engine|notify|outbox|pin|recorder|replica|serve|store|ticker)_[a-z_]*[a-z]`)

// TestMetricsAreDescribed: every metric that the program names has a help text,
// which is a sentence.
func TestMetricsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("pipeline/exposition/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	help := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, sentence, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if help[name] = sentence; !strings.HasSuffix(sentence, ".") || strings.ToUpper(sentence[:1]) != sentence[:1] {
			t.Errorf("help.txt: %s: %q is no sentence", name, sentence)
		}
	}
	for _, p := range open(t).packages {
		if !within(p.name, "pipeline") && !within(p.name, "collectors") {
			continue
		}
		for f := range p.code() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				name := metricLiteral.FindString(strings.Trim(lit.Value, "\"`"))
				if name != "" && help[name] == "" && !strings.Contains(lit.Value, name+"_") {
					t.Errorf("%s: %s has no help text: add a line to pipeline/exposition/help.txt", p.fset.Position(lit.Pos()), name)
				}
				return true
			})
		}
	}
}
