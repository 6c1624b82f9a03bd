// Package rules reads the knowledge of faults from files: one folder for each
// signature, with signature.yaml and the scenarios that prove it.
//
// It owns the form of these files, everything that can be said against one
// (with file, line and column), the digest by which a set of signatures is
// known, and the page that lists them. It never interprets a signature: that
// is the engine's work, by explain.Signature.
//
//	signatures/
//	  slow-receiver/
//	    signature.yaml      what speaks for it, against it, and what to do
//	    fires-plain.txtar   a scenario that must open it (package scenario)
//	    silent-incast.txtar a near miss that must not
//
// A file has these keys, and no others:
//
//	signature: slow-receiver          the folder's name
//	domain: network                   software, computing, network, power or cooling
//	expect: incident                  incident, risk or benign
//	roots: [nic]                      kinds of entity that can be its root
//	together: true                    roots that show it alike have it together
//	family: [slow-receiver, …]        look-alikes, the same list in each of them
//	prior: -3                         log-odds before any feature; ours are in weights.yaml
//	corroborates: true                one certainly slow step opens an incident with it:
//	                                  true where that must have ended (or traffic waits
//	                                  as it did not before; of software two steps),
//	                                  at-once where not
//	precursor:                        features, while, load, lasts, sentence, until: what
//	                                  is a risk before any job is degraded
//	doc: …                            what it is
//	sentence: …                       {root}, {job}, {<measure>} or {<measure>|percent}
//	features:                         name, measure, none, full, for, against, required, why;
//	                                  for and against of ours are in weights.yaml; of
//	                                  those with "required: either" one must be there
//	needs:                            metric, on, would_tell
//	actions:                          kind, target, text
package rules
