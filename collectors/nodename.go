package collectors

import (
	"fmt"
	"os"
)

// NodeName is what the host that a collector stands on is called: as it was
// configured, or else by its host name.
func NodeName(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("node: no name given, and the host has none: %w", err)
	}
	return name, nil
}
