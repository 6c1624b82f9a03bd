// Package pipeline is the live service: it puts a site's log, its engine, its
// notifier and its pages to work side by side, by roles, and stops them in
// order.
//
// It owns which part runs where and what each is given. It decides nothing
// about a site.
package pipeline
