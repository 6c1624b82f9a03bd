package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "dist/site", "the folder of the site; it is replaced")
	source := flag.String("source", "https://github.com/quintet-dc/quintet/blob/main/", "where files are that are no pages")
	flag.Parse()
	if err := build(*root, *out, *source); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}
