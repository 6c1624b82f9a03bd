// Package web is the page: HTML, style and scripts as they are served, with no
// build step.
//
// It owns the files and their test in a real browser. The facts come from the
// HTTP API.
package web
