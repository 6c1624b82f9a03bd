// Command digest plays recorded runs and prints what was published and found,
// and the digests of what was published and of the engine's whole state. The
// golden test builds it for other machines (I7).
package main

import (
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/engine/enginetest"
)

func main() {
	for _, dir := range os.Args[1:] {
		if err := play(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func play(dir string) error {
	rec, err := enginetest.Open(dir)
	if err != nil {
		return err
	}
	played, err := enginetest.Play(rec.Log, 1)
	if err != nil {
		return err
	}
	state, err := played.State()
	if err != nil {
		return err
	}
	fmt.Printf("%s%s%s %s %s\n", played.Published, played.Findings, played.Runner.Digest(), state, dir)
	return nil
}
