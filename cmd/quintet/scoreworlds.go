package main

import (
	"github.com/quintet-dc/quintet/lab/accuracy"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
)

// worlds scores cases of families of worlds and prints a table by family. Of one
// family it prints the family's own score.
func (c *scoreCommand) worlds(sh *shell) error {
	names, err := families(c.Worlds)
	if err != nil {
		return err
	}
	o, err := c.labOptions()
	if err != nil {
		return err
	}
	var rows []accuracy.World
	for _, name := range names {
		f, err := cases.ParseFamily(name)
		if err != nil {
			return err
		}
		outcomes, err := c.runLab(sh, o, name, cases.FamilyCases(f, c.GPUs, cases.Seeds(c.Seeds, c.Tune)))
		if err != nil {
			return err
		}
		rows = append(rows, accuracy.ByWorld(name, outcomes))
		if len(names) > 1 {
			continue
		}
		r, err := c.judge(sh, outcomes, 1)
		if err != nil {
			return err
		}
		return c.print(sh, []score.Report{r})
	}
	return accuracy.WriteWorlds(sh.out, rows)
}
