package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestWriteListsTheModulesOfABinary on this test itself.
func TestWriteListsTheModulesOfABinary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := write(&a, self, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if err := write(&b, self, "v1.2.3"); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("two runs differ: %v", err)
	}
	var got bom
	if err := json.Unmarshal(a.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Metadata.Component.Version != "v1.2.3" || len(got.Components) == 0 || got.Components[0].PURL == "" {
		t.Errorf("%+v", got)
	}
	if err := write(&a, "main.go", "v1"); err == nil {
		t.Error("no error for a file that is no binary")
	}
}
