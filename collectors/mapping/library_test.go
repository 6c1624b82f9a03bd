package mapping

import "testing"

// TestLibrary: every file that comes with the package is sound.
func TestLibrary(t *testing.T) {
	for _, name := range Names() {
		f, err := Shipped(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if f.Name != name {
			t.Errorf("%s calls itself %s", name, f.Name)
		}
	}
}
