//go:build peers

// Package peers names the programs of others that ours are held against.
package peers

import (
	_ "github.com/prometheus/alertmanager/types"
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
