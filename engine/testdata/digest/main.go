// Command digest plays recorded runs and prints what was published and its
// digest. The golden test builds it for other machines (I7).
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
	fmt.Printf("%s%s %s\n", played.Published, played.Runner.Digest(), dir)
	return nil
}
