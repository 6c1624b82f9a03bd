//go:build peers

// Package peers names the program that our host collector is held against.
package peers

import _ "github.com/prometheus/node_exporter/collector"
