//go:build !service

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/sim/fault"
)

// listFaults prints every fault that can be injected, in the form NAME[@ENTITY].
func listFaults(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tDOMAIN\tEXPECTED\tSEVERITY")
	for _, k := range fault.Kinds() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Name, k.Domain, k.Expect, k.Severity)
	}
	return w.Flush()
}

// nearestFault returns ", did you mean …?" for a mistyped fault, empty where
// nothing is like it.
func nearestFault(name string) string {
	var known []string
	for _, k := range fault.Kinds() {
		known = append(known, k.Name)
	}
	return cli.Nearest(name, known)
}
