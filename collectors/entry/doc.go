// Package entry reads one entry of a configuration's collectors: keys, values and
// what is wrong with them, each with its line and column.
//
// It owns how a value of a kind is read and how a mistake is reported. It must
// never know what a key means to the collector that has it.
package entry
