// Package config is the configuration file of design A9: one YAML document,
// strict, every key with a default that is right for one machine.
//
// It owns the keys that are the service's own and where in the file a mistake
// is. What a collector is told is decoded by the collector itself.
package config
