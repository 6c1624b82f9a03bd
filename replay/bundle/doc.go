// Package bundle reads a labelled bundle, a folder of plain files that other
// programs write, and turns it into a log in canonical order, or a trace.
//
// It owns the reading of samples.csv, events.csv, topology.json and bundle.json,
// and its errors: each names the file, the line and the field. It never repairs
// what is wrong, never reads truth.json into the log, and never lets the order of
// rows, of entities or of keys change the log that comes out.
package bundle
