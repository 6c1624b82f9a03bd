// Package access authenticates requests and decides what a user may do.
//
// It owns users, roles, tokens, the trusted reverse proxy, and how often a login
// may fail. It reads its files again while it runs, so that removing a user takes
// effect without a restart. It must never log a password or a token, and never
// admit a user whose file cannot be read.
package access
