// Package web is the page: HTML, style and scripts as they are served, with no
// build step.
//
// It owns the files and their test in a real browser. The facts come from the HTTP
// API; docs/page.md describes the requests of the page. It must never need anything
// that is not among its own files: no framework, no font, no script and no style
// from other hosts, so that it works on an isolated management network.
package web
