package bus_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// processor is the time that all threads of this process have used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// messages are frames of one switch's ports, encoded ahead.
func messages(b *testing.B, on *bus.Bus, n int) (ms []bus.Message, size int) {
	f := newFrames(b)
	for i := range n {
		enc, err := telemetry.AppendRecord(nil, f.record(i))
		if err != nil {
			b.Fatal(err)
		}
		m, err := on.Message("h1", enc)
		if err != nil {
			b.Fatal(err)
		}
		m.ID = fmt.Sprintf("%s/%d", m.ID, b.N) // else a second run would be a repeat
		ms, size = append(ms, m), size+len(enc)
	}
	return ms, size
}

// follow counts entries until n have come.
func follow(ctx context.Context, b *bus.Bus, after uint64, n int) error {
	count := 0
	err := b.Follow(ctx, after, func(e bus.Entry) error {
		if count++; count == n {
			return errEnough
		}
		return e.Err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// BenchmarkLog sends frames and follows them, with the server in this process:
// what a message costs client, server and reader together, in processor time.
func BenchmarkLog(b *testing.B) {
	for _, c := range []struct {
		name           string
		send, follow   bool
		listen, single bool
	}{
		{name: "send", send: true}, {name: "follow", follow: true}, {name: "both", send: true, follow: true},
		{name: "both-tls", send: true, follow: true, listen: true}, {name: "one-by-one", send: true, single: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := broker.Config{}
			if c.listen {
				cfg.Listen = "127.0.0.1:0"
			}
			s := serve(b, cfg)
			on := join(b, s, broker.All)
			ctx := within(b, 5*time.Minute)
			if err := on.Create(ctx); err != nil {
				b.Fatal(err)
			}
			writer, reader := on, join(b, s, broker.Store)
			if c.listen {
				writer, reader = remote(b, s, broker.Collect("h1")), remote(b, s, broker.Store)
			}
			ms, size := messages(b, on, b.N)
			if !c.send {
				if _, err := writer.Send(ctx, ms); err != nil {
					b.Fatal(err)
				}
			}
			before := processor(b)
			b.ResetTimer()
			done := make(chan error, 1)
			go func() {
				if c.follow {
					done <- follow(ctx, reader, 0, b.N)
				} else {
					done <- nil
				}
			}()
			switch {
			case c.single:
				for i := range ms {
					if _, err := writer.Send(ctx, ms[i:i+1]); err != nil {
						b.Fatal(err)
					}
				}
			case c.send:
				if _, err := writer.Send(ctx, ms); err != nil {
					b.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/message")
			b.ReportMetric(float64(size)/float64(b.N), "B/message")
		})
	}
}

func remote(b *testing.B, s *broker.Server, r broker.Role) *bus.Bus {
	creds, err := s.EnrollAs(r)
	if err != nil {
		b.Fatal(err)
	}
	on, err := bus.Connect(within(b, 10*time.Second), bus.Config{Site: "lab", Name: "remote", Servers: []string{s.URL()}, Credentials: creds})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(on.Close)
	return on
}
