package dial

import (
	"net/http"
	"time"
)

// HTTP2 has a connection given up over which nothing comes any more. With
// HTTP/1 the request that waits in vain takes its connection with it; one of
// HTTP/2 is used again for the next request, and the next, until the kernel
// gives up on it a quarter of an hour later. So it is asked for a sign of life
// once it has been silent for patience, and closed if none comes within another.
func HTTP2(patience time.Duration) *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience}
}
