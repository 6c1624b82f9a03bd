// Package text puts incidents into words for receivers whose format has room for
// some: a title and a body, by templates of Go's text/template.
//
// It owns what a template may see, and its bounds. A template sees plain values
// and no method, file or clock; what it writes is cut. The same message always
// gives the same text.
package text
