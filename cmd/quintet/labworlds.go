//go:build !service

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/cases"
)

// allWorlds is the value of --worlds for every family.
const allWorlds = "all"

// families reads the value of --worlds.
func families(name string) ([]string, error) {
	if name == allWorlds {
		return cases.Families(), nil
	}
	f, err := cases.ParseFamily(name)
	if err != nil || f == "" {
		return nil, fmt.Errorf("--worlds: %q: not found: want %s or one of %s", name, allWorlds, strings.Join(cases.Families(), ", "))
	}
	return []string{name}, nil
}

// seedRange reads A-B or A.
func seedRange(text string) ([]uint64, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	a, errA := strconv.ParseUint(first, 10, 32)
	b, errB := strconv.ParseUint(last, 10, 32)
	if errA != nil || errB != nil || a < 1 || b < a || b-a >= 10000 {
		return nil, fmt.Errorf("--seeds: %q: want A-B, with 1 ≤ A ≤ B and at most 10000 seeds", text)
	}
	var out []uint64
	for s := a; s <= b; s++ {
		out = append(out, s)
	}
	return out, nil
}

// recordWorlds writes the cases of families of worlds into a folder: of one
// family into the folder itself, of all into a folder for each.
func (c *labCommand) recordWorlds(sh *cli.Shell) error {
	names, err := families(c.Worlds)
	if err != nil {
		return err
	}
	seeds, err := seedRange(c.Seeds)
	if err != nil {
		return err
	}
	line := newProgress(sh.Err, "writing")
	defer line.done()
	for i, name := range names {
		dir := c.Out
		if len(names) > 1 {
			dir = filepath.Join(dir, name)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("-o %s: %w", dir, err)
		}
		f, err := cases.ParseFamily(name)
		if err != nil {
			return err
		}
		err = c.recordCases(sh, dir, cases.FamilyCases(f, c.gpus(), seeds), func(done, total int) {
			line.at((float64(i)+float64(done)/float64(total))/float64(len(names)), name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recordCases writes each case as NAME.qtrace and NAME.truth.json, several at
// once. Cases that physics does not allow are left out, with a warning.
func (c *labCommand) recordCases(sh *cli.Shell, dir string, cs []cases.Case, progress func(done, total int)) error {
	next, errs := make(chan cases.Case), make([]error, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for w := range errs {
		workers.Go(func() {
			for k := range next {
				err := c.recordCase(sh, dir, k)
				mu.Lock()
				var none *cases.NoCaseError
				if errors.As(err, &none) {
					sh.Warn("%s left out: %s", k.Name(), none.Why)
					err = nil
				}
				done++
				progress(done, len(cs))
				mu.Unlock()
				errs[w] = cmp.Or(errs[w], err)
			}
		})
	}
	for _, k := range cs {
		next <- k
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

func (c *labCommand) recordCase(sh *cli.Shell, dir string, k cases.Case) error {
	base := filepath.Join(dir, k.Name())
	return writeFiles(base+".qtrace", base+truthEnding, func(a, b *os.File) error {
		return cases.WriteTrace(sh.Ctx, k, cases.Recorded{Trace: a, Truth: b, Lean: c.Lean, Writer: "quintet lab"})
	})
}
