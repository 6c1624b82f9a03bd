package dial

import (
	"net/http"
	"time"
)

// HTTP2 returns settings that close a dead connection. With HTTP/1 a request that
// times out closes its connection; an HTTP/2 connection is used again for the next
// request, and the next, until the kernel gives it up a quarter of an hour later.
// So a ping is sent when no data was received for timeout, and the connection is
// closed if no answer arrives within another.
func HTTP2(timeout time.Duration) *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout}
}
