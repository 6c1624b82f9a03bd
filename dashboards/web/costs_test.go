package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// costs is a site's response about costs, written by hand.
func costs(t *testing.T) api {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "costs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	a := api{}
	for _, name := range []string{"losses", "coupling", "budget", "bottlenecks"} {
		a["/api/v1/"+name] = doc[name]
	}
	views(t, a)
	return a
}
