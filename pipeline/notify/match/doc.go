// Package match decides which incidents are selected: matchers over an incident's
// properties, its place and its degraded jobs.
//
// It owns names, operators and their meaning, which routes, teams, silences and the
// page share. It must never read a clock or ask another machine: the same facts and
// the same matchers give the same answer everywhere.
//
// A name may have several values (an incident degrades several jobs). = and =~ hold
// if any of them matches, != and !~ if none does; a name without a value has the
// empty one. In = and != a * matches any run of characters. Regular expressions are
// RE2 and match the whole value.
package match
