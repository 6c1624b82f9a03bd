package serve

import (
	"flag"
	"os"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/openapi"
)

var updateClient = flag.Bool("update-client", false, "rewrite the OpenAPI document and the generated files of the client")

// TestTheGeneratedClientIsCurrent holds client/openapi.json and the client's
// generated files against the routes. -update-client rewrites them.
func TestTheGeneratedClientIsCurrent(t *testing.T) {
	r := run(t, newSite(), Config{})
	document, err := r.server.describe()
	if err != nil {
		t.Fatal(err)
	}
	source, err := openapi.GoClient(document, "client")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]byte{"../../client/openapi.json": append(document, '\n'), "../../client/generated.go": source} {
		if *updateClient {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not current: go generate ./pipeline/serve", path)
		}
	}
}
