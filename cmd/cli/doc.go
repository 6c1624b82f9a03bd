// Package cli is what the commands of Quintet share: how a command line is parsed
// and run, exit codes, help, completion, the manual page, the version, the memory
// limit, and the service manager.
package cli
