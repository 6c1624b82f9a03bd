package fabric

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "fabric",
		Doc:      "The topology and counters of an InfiniBand subnet, in band.",
		Advice:   "does the subnet manager answer, and may this host read the fabric?",
		Settings: Config{},
		Mapping:  Profile{},
		Open:     kind.Opener(kind.Entry[Config]("fabric"), kind.Local(New)),
		Find:     discover,
	}
}
