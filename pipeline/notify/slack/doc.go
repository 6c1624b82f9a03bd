// Package slack posts to an incoming webhook of Slack, or of a compatible service.
//
// It owns the blocks of a message and their bounds. The address of an incoming
// webhook is its secret, so it is kept in a file and never logged.
package slack
