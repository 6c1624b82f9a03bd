package topology

import "strings"

// Rank returns the precedence of a source of edges where two disagree: higher
// wins, unknown sources are 0. A source is identified by its name up to the first ':',
// '/' or '|', so that "file:cables.yaml" ranks as "file".
//
//	4  the thing itself, or what decides it: lldp, sm, ufm, slurm, k8s, kubernetes, scheduler
//	3  a device's own inventory: redfish, gnmi, sysfs, nvml, dcgm
//	2  a program that pushes: api, receive
//	1  a plan on paper: file, import, bundle
func Rank(source string) int {
	if i := strings.IndexAny(source, ":/|"); i >= 0 {
		source = source[:i]
	}
	switch source {
	case "lldp", "sm", "ufm", "slurm", "k8s", "kubernetes", "scheduler":
		return 4
	case "redfish", "gnmi", "sysfs", "nvml", "dcgm":
		return 3
	case "api", "receive":
		return 2
	case "file", "import", "bundle":
		return 1
	}
	return 0
}
