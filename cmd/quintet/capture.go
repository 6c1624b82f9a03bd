package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/trace"
)

// captureCommand writes a part of a running site's log into a trace.
type captureCommand struct {
	Output   string        `short:"o" required:"" placeholder:"FILE" help:"The trace to write."`
	Server   string        `default:"http://127.0.0.1:8420" placeholder:"URL" help:"The service. SSL_CERT_FILE in the environment names the certificate of one that this system does not trust."`
	Last     time.Duration `placeholder:"15m" help:"What has happened in so long. Without this and --incident: from now on, until interrupted."`
	Incident string        `placeholder:"ID" help:"From 15 minutes before an incident began to 5 after its end."`
	User     string        `placeholder:"NAME:FILE" help:"Who asks, and the file with the password."`
	Force    bool          `help:"Replace FILE if it is there."`
}

// Validate returns an error if the flags are invalid.
func (c *captureCommand) Validate() error {
	if c.Last != 0 && c.Incident != "" {
		return errors.New("--last and --incident: want one of them")
	}
	if c.Last < 0 {
		return errors.New("--last: want no negative length")
	}
	return nil
}

// Run writes the trace. What was written of one that is interrupted is a trace.
func (c *captureCommand) Run(sh *cli.Shell) error {
	if err := unclaimed(c.Output, c.Force); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	resp, err := c.ask(sh.Ctx)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	defer resp.Body.Close()
	if err := writeWhole(c.Output, func(w *bufio.Writer) error { return c.copy(sh.Ctx, w, resp.Body) }); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	if sh.Ctx.Err() != nil {
		if err := seal(c.Output); err != nil {
			return fmt.Errorf("capture: %w", err)
		}
	}
	return c.printSummary(sh)
}

// seal gives a trace that was broken off the end and the index of one that was
// closed, with everything that can be read of it.
func seal(path string) error {
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		return err
	}
	defer rec.Close()
	r := rec.Trace
	if r.Info().Complete {
		return nil
	}
	h := r.Header()
	if h.Snapshot, err = r.Snapshot(); err != nil {
		return err
	}
	return writeWhole(path, func(out *bufio.Writer) error { return reseal(out, h, r) })
}

// reseal writes what a reader still gives as a trace that is closed.
func reseal(out io.Writer, h trace.Header, r *trace.Reader) error {
	w, err := trace.NewWriter(out, h)
	if err != nil {
		return err
	}
	err = r.ReadAll(func(e trace.Entry) error {
		if e.Record == nil {
			return w.AppendDigest(e.Position, e.Digest)
		}
		return w.Append(e.Position, e.Record)
	})
	var cut *trace.CutError
	if err != nil && !errors.As(err, &cut) {
		return err
	}
	return w.Close()
}

// copy reads until the end, or until ctx is done: what came by then is kept. The
// writer shows nothing but Write: one that reads by itself would take the end of
// the reading for a fault of its own, and keep nothing.
func (c *captureCommand) copy(ctx context.Context, w io.Writer, r io.Reader) error {
	if _, err := io.Copy(struct{ io.Writer }{w}, r); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (c *captureCommand) ask(ctx context.Context) (*http.Response, error) {
	q := url.Values{}
	if c.Last > 0 {
		q.Set("last", c.Last.String())
	}
	if c.Incident != "" {
		q.Set("incident", c.Incident)
	}
	return asking{c.Server, c.User}.send(ctx, "/api/v1/capture?"+q.Encode())
}

// identify adds the user's credentials to a request: user is NAME:FILE, the file
// with the password.
func identify(req *http.Request, user string) error {
	if user == "" {
		return nil
	}
	name, file, ok := strings.Cut(user, ":")
	if !ok {
		return errors.New("--user: want NAME:FILE")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	req.SetBasicAuth(name, strings.TrimRight(string(b), "\r\n"))
	return nil
}

// refusal is the service's error about a request.
func refusal(resp *http.Response) error {
	var answered struct{ Error, Field string }
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if json.Unmarshal(b, &answered) != nil || answered.Error == "" {
		return errors.New(resp.Status)
	}
	if answered.Field != "" {
		return fmt.Errorf("%s: %s", answered.Field, answered.Error)
	}
	return errors.New(answered.Error)
}

// printSummary prints what the trace contains.
func (c *captureCommand) printSummary(sh *cli.Shell) error {
	rec, err := replay.Open(c.Output, replay.OpenConfig{})
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	defer rec.Close()
	i := rec.Trace.Info()
	begins := "begins with a snapshot"
	if i.Cold {
		begins = "no history before this time"
	}
	_, err = fmt.Fprintf(sh.Out, "%s: %d entries, %s to %s; %s\n", c.Output, i.Entries, i.First, i.Last, begins)
	return err
}
