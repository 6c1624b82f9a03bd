package nvml

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "nvml",
		Doc:      "GPUs of the host that it runs on, over NVIDIA's library.",
		Advice:   "does quintet collect still run on the host, and can it reach the bus?",
		Settings: Config{},
		Open:     kind.Opener(kind.Entry[Config]("nvml"), kind.Local(New)),
		Find:     find,
	}
}
