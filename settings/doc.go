// Package settings reads YAML into structs: one strict decoder for the whole
// configuration. Tags of the struct's fields state the key, the default, the bounds
// and former names, from which the schema, the reference and quintet config migrate are
// made too.
//
// It owns the form of a configuration. It must never know what one is about.
package settings
