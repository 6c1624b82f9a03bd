package collect

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/quintet-dc/quintet/collectors/mapping"
)

// TestMigrateMappings: mapping files of 0.14, each of its own language then, are read
// with advice, become the files that are wanted, and those mean the same.
func TestMigrateMappings(t *testing.T) {
	for _, name := range []string{"gnmi", "redfish", "logs", "fabric", "series"} {
		path := former + "mappings/" + name + ".yaml"
		kind := name
		if name == "series" {
			kind = "scrape"
		}
		k, _ := KindOf(kind)
		meaning := func(path string) (any, mapping.Formers) {
			to := reflect.New(reflect.TypeOf(k.Mapping))
			var f mapping.Formers
			if err := f.DecodeFile(path, to.Interface()); err != nil {
				t.Error(err)
			}
			return to.Interface(), f
		}
		before, keys := meaning(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, changes, err := Migrate(text)
		if err != nil || len(keys) != 1 || len(changes) != len(keys[0].Keys) {
			t.Errorf("%s: advice of %v, changes %v, %v", name, keys, changes, err)
		}
		if *update {
			if err := os.WriteFile(former+"mappings/"+name+".want.yaml", got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(former + "mappings/" + name + ".want.yaml")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if after, keys := meaning(former + "mappings/" + name + ".want.yaml"); len(keys) > 0 || !reflect.DeepEqual(before, after) {
			t.Errorf("%s: another meaning, or former keys %v", name, keys)
		}
	}
}
