// Package config is the configuration file of design A9: one YAML document, strict,
// every key with a default that is right for one machine.
//
// It owns the keys of the service itself and the positions of mistakes in the file.
// The keys of a collector are decoded by the collector itself.
package config
