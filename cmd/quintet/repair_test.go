package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TestRepair shows an entry that no engine wrote, removes it, and shows none.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := broker.Start(ctx, broker.Config{Dir: dir, Site: "site"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "site", InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+bus.UserOf(c.Credentials)))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "quintet.v1.site.incidents.inc-1.1", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	b.Close()
	s.Close()
	repair := func(remove bool) (string, error) {
		var out bytes.Buffer
		err := (&repairCommand{Data: dir, Remove: remove}).Run(&cli.Shell{Ctx: ctx, Out: &out, Err: &out})
		return out.String(), err
	}
	out, err := repair(false)
	if !errors.Is(err, cli.Exit(cli.Wrong)) || !strings.Contains(out, `foreign incidents sequence 1`) || !strings.Contains(out, `inc-1.1, 6 bytes: it is not signed: "forged"`) {
		t.Errorf("show: %v\n%s", err, out)
	}
	if out, err = repair(true); err != nil || !strings.Contains(out, "removed incidents sequence 1") {
		t.Errorf("remove: %v\n%s", err, out)
	}
	if out, err = repair(false); err != nil || out != "" {
		t.Errorf("after removing: %v\n%s", err, out)
	}
}
