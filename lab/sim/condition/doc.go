// Package condition states what is out of order in a simulated site at an
// instant, part by part.
//
// It is where faults and physics meet: a fault writes what it does to a part (a
// link carries half, a plate conducts worse, a job reads slowly), mechanisms
// read it and know no fault by name. It holds causes only, never what follows
// from them: no temperature, no rate, no step time.
package condition
