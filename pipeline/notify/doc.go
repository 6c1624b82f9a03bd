// Package notify tells receivers of incidents: each revision that must be told,
// at least once, under one id with one body.
//
// It owns claims, retries and what was delivered. How a receiver is spoken to
// is told by the packages in its folder.
package notify
