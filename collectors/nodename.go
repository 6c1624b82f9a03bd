package collectors

import (
	"fmt"
	"os"
)

// NodeName returns the name of the host that a collector runs on: the configured
// one, or else its host name.
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
