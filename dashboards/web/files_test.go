package web_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/dashboards/web"
)

// forbidden is what would let a name become markup, or need more than the policy
// allows, or leave the site.
var forbidden = map[string]*regexp.Regexp{
	"text becomes markup":   regexp.MustCompile(`(inner|outer)HTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML`),
	"text becomes script":   regexp.MustCompile(`\beval\(|new Function|javascript:|set(Timeout|Interval)\(["'` + "`" + `]`),
	"inline style or event": regexp.MustCompile(`<[^>]+\s(style|on[a-z]+)=|"style"|setAttribute\("on`),
	"another address":       regexp.MustCompile(`(https?:)?//[a-z0-9-]+\.[a-z]`),
	"the browser's clock":   regexp.MustCompile(`Date\.now\(|new Date\(\)`),
}

func eachFile(t *testing.T, fn func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(web.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(web.Files(), name)
		fn(name, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFilesKeepToThemselves: nothing in them can execute data, reach other hosts,
// or read the browser's clock as if it were the log's.
func TestFilesKeepToThemselves(t *testing.T) {
	eachFile(t, func(name, text string) {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		for what, pattern := range forbidden {
			if found := pattern.FindString(text); found != "" {
				t.Errorf("%s: %s: %q", name, what, found)
			}
		}
		if n := strings.Count(text, "\n"); n > 600 {
			t.Errorf("%s: %d lines, at most 600", name, n)
		}
	})
	for what, text := range map[string]string{
		"text becomes markup": `el.innerHTML = name`, "text becomes script": `eval(name)`, "inline style or event": `<p style="color:red">`,
		"another address": `//cdn.example/x.js`, "the browser's clock": `Date.now()`,
	} {
		if !forbidden[what].MatchString(text) {
			t.Errorf("%s was not noticed in %s", what, text)
		}
	}
}

var (
	refers  = regexp.MustCompile(`<(?:link|script|img)[^>]*? (?:src|href)="/([^"]+)"`)
	imports = regexp.MustCompile(`from "\./([^"]+)"`)
	threads = regexp.MustCompile(`new Worker\(new URL\("\./([^"]+)"`)
)

// TestFilesAreComplete: what the page refers to is there, and nothing else is.
func TestFilesAreComplete(t *testing.T) {
	there, wanted := map[string]bool{}, map[string]bool{"index.html": true}
	eachFile(t, func(name, text string) {
		there[name] = true
		if name == "index.html" {
			for _, m := range refers.FindAllStringSubmatch(text, -1) {
				wanted[m[1]] = true
			}
			if strings.Contains(text, "<style") || regexp.MustCompile(`<script(?:\s+type="module")?>`).MatchString(text) {
				t.Error("index.html: inline style or script")
			}
		}
		for _, of := range []*regexp.Regexp{imports, threads} {
			for _, m := range of.FindAllStringSubmatch(text, -1) {
				wanted[path.Join(path.Dir(name), m[1])] = true
			}
		}
	})
	for name := range wanted {
		if !there[name] {
			t.Errorf("%s is referred to and not there", name)
		}
	}
	for name := range there {
		if !wanted[name] {
			t.Errorf("%s is served and nothing refers to it", name)
		}
	}
}

// TestWithoutBrowser runs what needs node alone.
func TestWithoutBrowser(t *testing.T) {
	node(t, "--test", filepath.Join("browsertest", "units.mjs"))
}
