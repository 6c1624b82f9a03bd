package jobs

import "github.com/quintet-dc/quintet/collectors/kind"

// Kind describes this collector.
func Kind() kind.Kind {
	return kind.Kind{
		Name:     "jobs",
		Doc:      "Jobs, their placement and their steps: Slurm, Kubernetes, logs and files of trainers.",
		Advice:   "does the scheduler answer, and is the token still valid?",
		Settings: Config{},
		Open:     kind.Opener(DecodeConfig, New),
		Find:     find,
	}
}
