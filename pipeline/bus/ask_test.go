package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 20*time.Second)
	engine, web := join(t, s, broker.Engine), join(t, s, broker.Web)
	if _, err := web.Ask(ctx, "jobs", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody there: %v", err)
	}
	stop, err := engine.Answer("jobs", func(_ context.Context, req []byte) ([]byte, error) {
		switch string(req) {
		case "fail":
			return nil, errors.New("not\r\nnow")
		case "long":
			return make([]byte, 9<<20), nil
		}
		return append([]byte("jobs of "), req...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := web.Ask(ctx, "jobs", []byte("a")); string(got) != "jobs of a" || err != nil {
		t.Errorf("answer: %q, %v", got, err)
	}
	var failed *bus.AnswerError
	if _, err := web.Ask(ctx, "jobs", []byte("fail")); !errors.As(err, &failed) || failed.Text != "not  now" {
		t.Errorf("an error: %v", err)
	}
	if _, err := web.Ask(ctx, "jobs", []byte("long")); !errors.As(err, &failed) || !strings.Contains(failed.Text, "at most") {
		t.Errorf("a long answer: %v", err)
	}
	stop()
	if _, err := web.Ask(ctx, "jobs", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody there any more: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	stop, err = engine.Answer("slow", func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.Ask(short, "slow", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no time: %v", err)
	}
	stop()
}

func TestKeyValue(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 20*time.Second)
	b := join(t, s, broker.Notify)
	kv, err := b.KeyValue(ctx, bus.Deliveries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Create(ctx, "inc-1.1.hook", []byte("claimed")); err != nil {
		t.Error(err)
	}
	if _, err := kv.Create(ctx, "inc-1.1.hook", []byte("claimed")); err == nil {
		t.Error("claimed twice")
	}
	if _, err := b.KeyValue(ctx, "nothing"); err == nil {
		t.Error("a bucket that is not there")
	}
}
