package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// licenseFile is the name of a file that holds terms under which code may be passed on.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-.].*)?$`)

// licenses writes the license texts of everything in a binary, in a stable order: the
// standard library's from the folder root, the modules' from the module cache. A module
// without a text is an error.
func licenses(w io.Writer, binary, cache, root string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return fmt.Errorf("standard library: %w", err)
	}
	fmt.Fprintf(w, "License texts of the software in %s.\n", info.Main.Path)
	if err := section(w, "std "+info.GoVersion, "LICENSE", text); err != nil {
		return err
	}
	modules := slices.Clone(info.Deps)
	slices.SortFunc(modules, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		if err := ofModule(w, m, filepath.Join(cache, escaped(m.Path)+"@"+escaped(m.Version))); err != nil {
			return fmt.Errorf("%s@%s: %w", m.Path, m.Version, err)
		}
	}
	return nil
}

// ofModule writes the texts in the folder of a module, those of code that it contains
// from others included.
func ofModule(w io.Writer, m *debug.Module, dir string) error {
	found := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == "vendor") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found = found || name == e.Name()
		if err != nil {
			return err
		}
		return section(w, m.Path+" "+m.Version, filepath.ToSlash(name), text)
	})
	if err == nil && !found {
		err = fmt.Errorf("no license text in %s", dir)
	}
	return err
}

func section(w io.Writer, of, file string, text []byte) error {
	_, err := fmt.Fprintf(w, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("-", 80), of, file, strings.TrimSpace(string(text)))
	return err
}

// escaped is how the module cache writes a path or version: capitals as "!" and the
// small letter.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
