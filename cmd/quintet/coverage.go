package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/cmd/cli"
)

// coverageCommand reports what a running site can detect and what it cannot.
type coverageCommand struct {
	asking `embed:""`

	JSON bool `name:"json" help:"Print the report as the API gives it."`
	All  bool `help:"List every source and every fault, not only what is wrong."`
}

// asking is how a running service is asked.
type asking struct {
	Server string `default:"http://127.0.0.1:8420" placeholder:"URL" help:"The service. SSL_CERT_FILE in the environment names the certificate of one that this system does not trust."`
	User   string `placeholder:"NAME:FILE" help:"Who asks, and the file with the password."`
}

// get asks for a path of the API and reads the answer into a value.
func (a asking) get(ctx context.Context, path string, into any) error {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	resp, err := a.send(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(into)
}

// send asks for a path of the API. An answer that is not 200 is an error.
func (a asking) send(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(a.Server, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	if err := identify(req, a.User); err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// Run prints the data sources, the result of NVIDIA's requirements for them, and
// which faults cannot be distinguished.
func (c *coverageCommand) Run(sh *cli.Shell) error {
	if c.JSON {
		var raw json.RawMessage
		if err := c.get(sh.Ctx, "/api/v1/coverage/report", &raw); err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
		_, err := fmt.Fprintf(sh.Out, "%s\n", raw)
		return err
	}
	var r client.Report
	var received client.SourceList
	if err := c.get(sh.Ctx, "/api/v1/coverage/report", &r); err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	if err := c.get(sh.Ctx, "/api/v1/coverage", &received); err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	w := tabwriter.NewWriter(sh.Out, 0, 0, 2, ' ', 0)
	c.sources(w, &r, received.Sources)
	requirements(w, &r)
	c.faults(w, &r)
	return w.Flush()
}

// sourceName returns the collector, target and part of a source.
func sourceName(s client.Source) string {
	return strings.TrimSpace(s.Collector + " " + s.Target + " " + s.Part)
}

// ago is how long before the newest tick data was received.
func ago(r *client.Report, at *time.Time) string {
	if at == nil || r.At == nil {
		return "-"
	}
	return max(0, r.At.Sub(*at)).Round(time.Second).String()
}

func (c *coverageCommand) sources(w io.Writer, r *client.Report, all []client.Source) {
	stale := 0
	fmt.Fprintln(w, "DOMAIN\tMETRICS\tSERIES\tLAST SAMPLE")
	for _, d := range r.Domains {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s ago\n", d.Domain, d.Metrics, d.Series, ago(r, d.Latest))
	}
	for _, s := range all {
		if s.Silent {
			stale++
		}
	}
	fmt.Fprintf(w, "\n%s, %d stale\n", plural(len(all), "source"), stale)
	slices.SortStableFunc(all, func(a, b client.Source) int { return cmp.Compare(sourceName(a), sourceName(b)) })
	for _, s := range all {
		if s.Silent || c.All {
			fmt.Fprintf(w, "%s\t%d series\tevery %gs\t%s ago\tclock off by %.3gs\n", sourceName(s), s.Series, s.CadenceSeconds, ago(r, s.Latest), s.ClockOffsetSeconds)
		}
	}
}

func requirements(w io.Writer, r *client.Report) {
	fmt.Fprintln(w, "\nREQUIREMENT\tSTATE\tLAST\tWHAT\tBY, OR WHAT TO DO")
	for _, x := range r.Requirements {
		shown := strings.Join(x.By, "; ")
		if x.Do != "" {
			shown = strings.TrimPrefix(shown+" -> "+x.Do, " ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.ID, x.State, ago(r, x.Latest), x.What, shown)
	}
}

func (c *coverageCommand) faults(w io.Writer, r *client.Report) {
	fmt.Fprintln(w, "\nFAULT\tSIGHT\tMISSING METRIC\tWOULD DISTINGUISH")
	clear := 0
	for _, x := range r.Faults {
		if x.Sight == "clear" {
			clear++
		}
		if x.Sight == "clear" && c.All {
			fmt.Fprintf(w, "%s\t%s\t\t\n", x.Signature, x.Sight)
		}
		for _, m := range x.Missing {
			fmt.Fprintf(w, "%s\t%s\t%s of %s (%d of %d)\t%s\n", x.Signature, x.Sight, m.Metric, m.On, m.Entities, m.Of, m.WouldTell)
		}
	}
	fmt.Fprintf(w, "%d of %d faults can be distinguished from similar ones\n", clear, len(r.Faults))
}
