package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"github.com/quintet-dc/quintet/settings"
)

const (
	maxWebFile = 1 << 20
	maxCost    = 14 // of bcrypt: 1 s of a core; more would stop every other login
	minToken   = 16 // bytes
	maxName    = 200
)

// hash is a name with its bcrypt hash.
type hash struct {
	name string
	text []byte
}

// readWebFile reads the users of a file in the form of Prometheus's web
// configuration. Other keys of that form are refused: they would have no effect.
func readWebFile(path string) ([]hash, error) {
	b, err := settings.ReadFile(path, maxWebFile)
	if err != nil {
		return nil, err
	}
	out, err := parseWebFile(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func parseWebFile(b []byte) ([]hash, error) {
	var in map[string]yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	for key := range in {
		switch key {
		case "basic_auth_users":
		case "tls_server_config":
			return nil, errors.New("tls_server_config: unsupported: state web.tls instead")
		default:
			return nil, fmt.Errorf("%.40s: unsupported: want basic_auth_users", key)
		}
	}
	var users map[string]string
	node := in["basic_auth_users"]
	if err := node.Decode(&users); err != nil {
		return nil, fmt.Errorf("basic_auth_users: %w", err)
	}
	out := make([]hash, 0, len(users))
	for name, text := range users {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("basic_auth_users: %w", err)
		}
		if err := checkHash(text); err != nil {
			return nil, fmt.Errorf("basic_auth_users: %s: %w", name, err)
		}
		out = append(out, hash{name, []byte(text)})
	}
	slices.SortFunc(out, func(a, b hash) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("name %.40q: want 1 to %d bytes without control characters", name, maxName)
	}
	return nil
}

// checkHash accepts a bcrypt hash that is not too expensive to compare.
func checkHash(text string) error {
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil {
		return fmt.Errorf("not a bcrypt hash: %w", err)
	}
	if cost > maxCost {
		return fmt.Errorf("bcrypt cost %d: want at most %d", cost, maxCost)
	}
	return nil
}
