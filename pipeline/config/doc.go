// Package config is the configuration file of the service: one YAML document, strict,
// every key with a default that is right for one machine.
//
// It owns the keys of the service itself, as structs whose tags package settings reads,
// and what can be checked of them without opening anything. An entry of a collector is
// decoded by the collector.
package config
