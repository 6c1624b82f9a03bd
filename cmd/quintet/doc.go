// Command quintet replays recordings of an AI data centre, names the root
// causes in them, judges the answers where the truth is known, and checks the
// files it reads.
//
// It owns flags, wiring and exit codes, one small file for each command. It
// never decides anything about a site: that is the engine's. Results go to
// standard output, progress and warnings to standard error.
//
// Built with the tag service it is the program quintet, which runs quintet-lab for
// the workbench; without, it is quintet-lab and has every command
// (docs/decisions/0076).
package main
