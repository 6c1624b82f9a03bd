package gnmi

import "testing"

// TestProfilesOfTheProgram: each is sound.
func TestProfilesOfTheProgram(t *testing.T) {
	for _, name := range ProfileNames() {
		p, err := LoadProfile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || len(p.groups) == 0 || len(p.root.edges) == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
