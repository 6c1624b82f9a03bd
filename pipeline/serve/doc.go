// Package serve is the HTTP face: the API, the stream of events, the page.
//
// It owns the form of requests and answers. It asks others for every fact and
// keeps none that it could not fetch again.
package serve
