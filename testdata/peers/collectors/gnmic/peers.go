//go:build peers

// Package peers names the program that our gNMI collector is held against.
package peers

import _ "github.com/openconfig/gnmic/pkg/cmd"
