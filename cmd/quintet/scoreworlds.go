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
		cs := cases.FamilyCases(f, c.GPUs, cases.Seeds(c.Seeds, c.Tune))
		for i := range cs {
			cs[i].Coarsen = c.Coarsen[0]
		}
		outcomes, err := c.runLab(sh, o, name, cs)
		if err != nil {
			return err
		}
		rows = append(rows, accuracy.ByWorld(name, outcomes))
		if len(names) == 1 {
			if err := c.one(sh, outcomes); err != nil {
				return err
			}
		}
	}
	if len(names) > 1 {
		if err := accuracy.WriteWorlds(sh.out, rows); err != nil {
			return err
		}
	}
	return c.floors(sh, rows)
}

// one prints the score of one family.
func (c *scoreCommand) one(sh *shell, outcomes []cases.Outcome) error {
	r, err := c.judge(sh, outcomes, c.Coarsen[0])
	if err != nil {
		return err
	}
	return c.print(sh, []score.Report{r})
}

// floors fails where a family stays below --floor.
func (c *scoreCommand) floors(sh *shell, rows []accuracy.World) error {
	below := false
	for i := range rows {
		if ac1 := rows[i].Report.Total.AC1; c.Floor > 0 && (ac1 == nil || *ac1 < c.Floor) {
			sh.warn("%s: the right root comes first in less than %g of the faults", rows[i].Family, c.Floor)
			below = true
		}
	}
	if below {
		return exit(exitWrong)
	}
	return nil
}
