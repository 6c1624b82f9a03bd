// Package authority signs the certificates of a simulated site's devices.
//
// It owns how long they hold and that they are of loopback alone. Its keys live
// in memory: nothing outlives the site.
package authority
