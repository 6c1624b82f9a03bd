package collect

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// LookAtCredentials is how often the files are looked at that a connection to the
// site's log is made with.
const LookAtCredentials = 5 * time.Second

// Renewed returns true when the content of one of a site's NATS credentials and
// authority files has changed, or returns when ctx is done. A file that cannot be
// read is ignored: its renewal may be in progress. A connection belongs to the user
// of its credentials, so new credentials need another connection.
func Renewed(ctx context.Context, file *config.File, every time.Duration) bool {
	if file.NATS.Embedded {
		<-ctx.Done()
		return false
	}
	var loaded [2][]byte
	paths := [2]string{file.NATS.CredentialsFile, file.NATS.TLS.CA}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		for i, path := range paths {
			b, err := os.ReadFile(path)
			if path == "" || err != nil || len(b) == 0 {
				continue
			}
			if loaded[i] != nil && !bytes.Equal(loaded[i], b) {
				return true
			}
			loaded[i] = b
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return false
		}
	}
}
