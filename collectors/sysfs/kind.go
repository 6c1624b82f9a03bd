package sysfs

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "sysfs",
		Doc:      "InfiniBand, RDMA and Ethernet counters, GPUs and sensors of the host that it runs on, from /sys and the drivers.",
		Advice:   "does quintet collect still run on the host, and can it reach the bus?",
		Settings: Config{},
		Open:     kind.Opener(kind.Entry[Config]("sysfs"), kind.Local(New)),
		Find:     find,
	}
}
