// Package slack speaks to an incoming webhook of Slack, or of what takes the same.
//
// It owns the blocks of a message and their bounds. The address of an incoming
// webhook is its secret, so it lies in a file and in no log.
package slack
