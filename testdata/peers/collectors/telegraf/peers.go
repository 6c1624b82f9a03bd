//go:build peers

// Package peers names the program that our collectors are held against.
package peers

import _ "github.com/influxdata/telegraf/plugins/inputs/all"
