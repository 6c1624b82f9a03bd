package broker

import (
	"log/slog"
	"os"
	"path/filepath"
)

// Where the NATS server keeps a stream below its store, and the two files that describe
// one (nats-server: server/filestore.go, newFileStore and writeStreamMeta): it makes the
// folder first and writes these afterwards.
const (
	streamFolders = "jetstream/*/streams/*"
	streamBlocks  = "msgs/*.blk"
	streamMeta    = "meta.inf"
	streamSum     = "meta.sum"
)

// removeUnmade removes the streams that were being made when the last process ended, so
// that they are made anew. The NATS server does not recover one without a description,
// and is unhealthy as long as its folder is there. A stream that has messages and no
// description is damaged: it stays, and the server reports it.
func removeUnmade(dir string, log *slog.Logger) error {
	folders, err := filepath.Glob(filepath.Join(dir, streamFolders))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if hasBytes(filepath.Join(folder, streamMeta)) && hasBytes(filepath.Join(folder, streamSum)) || hasBytes(filepath.Join(folder, streamBlocks)) {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		log.Warn("a stream that was being made when the last process ended is made again", "stream", filepath.Base(folder))
	}
	return nil
}

// hasBytes reports whether a file of a pattern exists and is not empty. One that cannot
// be looked at may be.
func hasBytes(pattern string) bool {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return true
	}
	for _, f := range files {
		if i, err := os.Stat(f); err != nil && !os.IsNotExist(err) || err == nil && i.Size() > 0 {
			return true
		}
	}
	return false
}
