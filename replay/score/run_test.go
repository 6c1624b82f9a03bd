package score

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// replayFrom plays the four runs by name.
func replayFrom(cases []Case) func(context.Context, string) (Case, error) {
	return func(_ context.Context, dir string) (Case, error) {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Dir == dir })
		if i < 0 {
			return Case{}, errors.New("no such bundle")
		}
		return cases[i], nil
	}
}

func dirsOf(cases []Case) []string {
	var out []string
	for i := range cases {
		out = append(out, cases[i].Dir)
	}
	return out
}

func TestRunDoesNotDependOnWorkersOrOrder(t *testing.T) {
	cases := fourRuns()
	want, err := json.Marshal(Judge(cases, Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 1, 3, 50} {
		dirs := dirsOf(cases)
		slices.Reverse(dirs)
		said := 0
		r, err := Run(t.Context(), dirs, Options{Replay: replayFrom(cases), Workers: workers, Progress: func(done, total int, dir string) {
			if said++; done != said || total != len(dirs) || dir == "" {
				t.Errorf("progress %d of %d after %d calls", done, total, said)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) || said != len(dirs) {
			t.Errorf("%d workers: another report, or %d of %d said", workers, said, len(dirs))
		}
	}
}

// All workers are held inside a replay: exactly as many as asked for are.
func TestRunBoundsItsWorkers(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			var running atomic.Int32
			release, ended := make(chan struct{}), make(chan error)
			go func() {
				_, err := Run(t.Context(), []string{"a", "b", "c", "d", "e", "f", "g"}, Options{Workers: workers,
					Replay: func(context.Context, string) (Case, error) {
						running.Add(1)
						<-release
						return Case{}, nil
					}})
				ended <- err
			}()
			synctest.Wait()
			if got, want := int(running.Load()), workersOr(workers); got != want {
				t.Errorf("%d replays at once, want %d", got, want)
			}
			close(release)
			if err := <-ended; err != nil || running.Load() != 7 {
				t.Errorf("%d replays in all, error %v", running.Load(), err)
			}
		})
	}
}

func TestRunNamesTheBundleThatFails(t *testing.T) {
	cases := fourRuns()
	_, err := Run(t.Context(), append(dirsOf(cases), "missing-9"), Options{Replay: replayFrom(cases)})
	if err == nil || !strings.Contains(err.Error(), "score: missing-9: no such bundle") {
		t.Errorf("got %v", err)
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := Run(ctx, []string{"a", "b", "c", "d"}, Options{Workers: 1, Replay: func(ctx context.Context, _ string) (Case, error) {
		calls++
		cancel()
		return Case{}, ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("got %v after %d replays, want cancelled after one", err, calls)
	}
}

func TestRunRefusesNothing(t *testing.T) {
	if _, err := Run(t.Context(), nil, Options{Replay: replayFrom(nil)}); err == nil {
		t.Error("no bundles: want an error")
	}
	if _, err := Run(t.Context(), []string{"a"}, Options{}); err == nil {
		t.Error("no replay: want an error")
	}
}
