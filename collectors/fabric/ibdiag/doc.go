// Package ibdiag reads what the programs of infiniband-diags print:
// ibnetdiscover's topology in its full form, perfquery's counters, sminfo's
// line, and what they complain of.
//
// It owns the form of these texts. It must never run a program, nor know what
// a counter or a name means to anybody.
package ibdiag
