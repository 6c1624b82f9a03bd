package mapping

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed files/*.yaml
var embedded embed.FS

// Names lists the mappings that come with this package.
func Names() []string {
	list, err := embedded.ReadDir("files")
	if err != nil {
		return nil // an embedded folder is there
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// Shipped returns a mapping that comes with this package.
func Shipped(name string) (*File, error) {
	b, err := shipped(name)
	if err != nil {
		return nil, err
	}
	return DecodeSeries(b)
}

func shipped(name string) ([]byte, error) {
	b, err := embedded.ReadFile(path.Join("files", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no mapping %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return b, nil
}
