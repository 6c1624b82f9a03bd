// Package match says which incidents are meant: matchers over what an incident
// is, where it is and whom it hurts.
//
// It owns names, operators and their meaning, which routes, teams, silences and
// the page share. It must never ask a clock or another machine: the same facts
// and the same matchers give the same answer everywhere.
//
// A name may have several values (an incident hurts several jobs). = and =~ hold
// where any of them matches, != and !~ where none does; a name without a value
// has the empty one. In = and != a * stands for any run of characters. Regular
// expressions are RE2 and match the whole value.
package match
