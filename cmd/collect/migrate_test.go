package collect

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/settings"
)

var update = flag.Bool("update", false, "rewrite the migrated files")

const former = "../../testdata/config/0.14/"

// TestMigrate: configurations of 0.14 are read with the command to run as advice, become the
// files that are wanted, comments included, and those are accepted and not changed
// again.
func TestMigrate(t *testing.T) {
	for _, name := range []string{"service", "collectors", "deploy"} {
		text, err := os.ReadFile(former + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		file, problems := config.Parse(name, string(text))
		if file != nil {
			_, more := Specs(file)
			problems = append(problems, more...)
		}
		got, changes, err := Migrate(text)
		if err != nil || len(changes) == 0 {
			t.Fatalf("%s: %v, %v", name, changes, err)
		}
		advised := 0
		for _, p := range problems {
			if strings.Contains(p.Text, "run quintet config migrate") {
				advised++
			}
		}
		if advised == 0 || file == nil {
			t.Errorf("%s: not read, or without advice: %v", name, problems)
		}
		path := former + name + ".want.yaml"
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		file, problems = config.Parse(name, string(got))
		if file == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		for _, e := range file.Collectors.Entries() {
			k, _ := KindOf(e.Kind)
			for _, p := range settings.Problems(e.Node, decode(e, k)) {
				if strings.Contains(p.Text, "unknown key") || strings.Contains(p.Text, "is now") {
					t.Errorf("%s: %v", name, p)
				}
			}
		}
		if again, changes, err := Migrate(got); err != nil || len(changes) > 0 || !bytes.Equal(again, got) {
			t.Errorf("%s: migrated twice: %v, %v", name, changes, err)
		}
	}
}

// decode decodes an entry without making a collector of it where that would need files.
func decode(e config.Collector, k kind.Kind) error {
	_, err := k.Open(e.Node, dial.Guard{})
	return err
}

// TestMigrateChangesNothingElse: texts without former keys are returned as they are.
func TestMigrateChangesNothingElse(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "site:   {name: x}   # odd\n", "- a\n", "collectors: 5\n", "collectors: {telepathy: [{every: 1s}]}\n"} {
		if got, changes, err := Migrate([]byte(text)); err != nil || len(changes) > 0 || string(got) != text {
			t.Errorf("%q: %q, %v, %v", text, got, changes, err)
		}
	}
	if _, _, err := Migrate([]byte("site: [")); err == nil {
		t.Error("no YAML is migrated")
	}
}

// TestMigrateCommand: the former file is kept and never overwritten; --dry-run changes
// nothing.
func TestMigrateCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.yaml")
	text := []byte("nats: {copies: 3}\n")
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
	run := func(dry bool) (string, error) {
		var out strings.Builder
		err := (&migrateCommand{DryRun: dry, Files: []string{path}}).Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: &out})
		return out.String(), err
	}
	holds := func(path, want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v, want %q", path, b, err, want)
		}
	}
	if out, err := run(true); err != nil || out != path+":1:8: nats.copies is now nats.replicas\n" {
		t.Errorf("%q, %v", out, err)
	}
	holds(path, string(text))
	if _, err := run(false); err != nil {
		t.Error(err)
	}
	holds(path, "nats: {replicas: 3}\n")
	holds(path+".orig", string(text))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if out, err := run(false); err != nil || !strings.Contains(out, "nothing to change") {
		t.Errorf("%q, %v", out, err)
	}
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := run(false); err == nil {
		t.Error("a kept file was overwritten")
	}
	holds(path, string(text))
}
