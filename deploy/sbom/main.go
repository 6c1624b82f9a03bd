// Command sbom writes the software bill of materials of a Go binary, as
// CycloneDX 1.6, from the modules that the binary itself records, or the license
// texts of those modules.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
)

// component is one module of the binary.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// bom is the document.
type bom struct {
	Format   string `json:"bomFormat"`
	Version  string `json:"specVersion"`
	Revision int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3:
		err = write(os.Stdout, os.Args[1], os.Args[2])
	case len(os.Args) == 5 && os.Args[1] == "licenses":
		err = licenses(os.Stdout, os.Args[2], os.Args[3], os.Args[4])
	default:
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION\n       sbom licenses BINARY GOMODCACHE GOROOT")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write writes the bill of materials of a binary, in a stable order.
func write(w io.Writer, binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	out := bom{Format: "CycloneDX", Version: "1.6", Revision: 1}
	out.Metadata.Component = component{Type: "application", Name: info.Main.Path, Version: version, PURL: purl(info.Main.Path, version)}
	out.Components = append(out.Components, component{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion})
	for _, m := range info.Deps {
		out.Components = append(out.Components, componentOf(m))
	}
	slices.SortFunc(out.Components, func(a, b component) int { return cmp.Compare(a.PURL, b.PURL) })
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func componentOf(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component{Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
}

// purl is the package URL of a module.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
