// Package browsertest runs the page in a real browser: scenarios of run.mjs, each
// against a site that the test serves or starts.
//
// It owns how a browser is found and driven, and how its findings become those of a
// test. It must never know what a page should show: scenarios define that. Only
// tests import it.
package browsertest
