// Package web is the page: HTML, style and scripts as they are served, with no
// build step.
//
// It owns the files and their test in a real browser. The facts come from the
// HTTP API; what the page asks of it is told in docs/page.md. It must never need
// anything that is not among its own files: no framework, no font, no script
// and no style from elsewhere, so that it works on a management network that
// reaches nothing.
package web
