package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/recorded"
)

// A capture that is interrupted keeps what had come by then, in a file that can
// be read.
func TestInterruptedCaptureIsKept(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	whole := recorded.Trace()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(whole)
		http.NewResponseController(w).Flush()
		<-r.Context().Done() // from now on: there is no end
	}))
	defer server.Close()
	client := server.Client().Transport
	defer func(was http.RoundTripper) { http.DefaultClient.Transport = was }(http.DefaultClient.Transport)
	http.DefaultClient.Transport = interrupting{client, int64(len(whole)), interrupt}

	file := filepath.Join(t.TempDir(), "now.qtrace")
	var out bytes.Buffer
	c := &captureCommand{Output: file, Server: server.URL}
	if err := c.Run(&cli.Shell{Ctx: ctx, Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes kept (%v), want %d", len(got), err, len(whole))
	}
	if !strings.Contains(out.String(), " entries, ") {
		t.Errorf("told %q", out.String())
	}
}

// A capture that is broken off in the middle of a block is closed with what is
// whole in it: replay and check find nothing wrong with it.
func TestInterruptedCaptureIsClosed(t *testing.T) {
	whole := recorded.Trace()
	file := filepath.Join(t.TempDir(), "cut.qtrace")
	if err := os.WriteFile(file, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := seal(file); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&checkTrace{Files: []string{file}}).Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: io.Discard}); err != nil {
		t.Errorf("check trace: %v: %s", err, &out)
	}
}

// interrupting interrupts once so many bytes of a body have been read.
type interrupting struct {
	http.RoundTripper
	after int64
	do    func()
}

func (i interrupting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := i.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &counted{resp.Body, i.after, i.do}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	left int64
	do   func()
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if c.left -= int64(n); c.left == 0 {
		c.do()
	}
	return n, err
}
