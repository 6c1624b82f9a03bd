package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// perPage is how many resources a page of a list has at most.
const perPage = 500

// follower is a kind of resource that is followed, round by round.
type follower interface {
	follow(ctx context.Context, k *kube) error
	count(r *report)
}

// feed is the resources of one kind. One goroutine at a time uses it.
type feed[T any] struct {
	group, plural string                    // /apis/batch/v1, jobs
	of            func(*T) (*meta, bool)    // and whether it is followed
	objects       map[string]*T             // by uid
	version       string                    // of what was received last; "" asks for the list
	most          int                       // that are kept
	dropped       map[collectors.Reason]int // of this round
}

func newFeed[T any](group, plural string, most int, of func(*T) (*meta, bool)) *feed[T] {
	return &feed[T]{group: group, plural: plural, of: of, objects: map[string]*T{}, most: most, dropped: map[collectors.Reason]int{}}
}

var errGone = errors.New("the server has forgotten what has changed")

// follow reads the list, or what has changed for as long as a round lasts.
func (f *feed[T]) follow(ctx context.Context, k *kube) error {
	if f.version != "" {
		err := f.watch(ctx, k)
		if !errors.Is(err, errGone) {
			return err
		}
		f.version = ""
	}
	return f.list(ctx, k)
}

// count adds what was dropped in a round to its report.
func (f *feed[T]) count(r *report) {
	for _, why := range slices.Sorted(maps.Keys(f.dropped)) {
		r.drop(why, f.dropped[why])
	}
	clear(f.dropped)
}

// path is where the resources are.
func (f *feed[T]) path(namespace string) string {
	if namespace == "" {
		return f.group + "/" + f.plural
	}
	return f.group + "/namespaces/" + url.PathEscape(namespace) + "/" + f.plural
}

func (f *feed[T]) list(ctx context.Context, k *kube) error {
	objects := map[string]*T{}
	version, from := "", ""
	for {
		var page struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []json.RawMessage
		}
		query := url.Values{"limit": {strconv.Itoa(perPage)}}
		if from != "" {
			query.Set("continue", from)
		}
		if err := k.ask(ctx, f.path(k.cfg.Namespace), query, func(in io.Reader) error { return decode(in, &page) }); err != nil {
			return err
		}
		if page.Metadata.ResourceVersion == "" {
			return fmt.Errorf("%w: a list of no version", errForm)
		}
		for _, b := range page.Items {
			f.keep(objects, b, false)
		}
		version, from = page.Metadata.ResourceVersion, page.Metadata.Continue
		if from == "" {
			f.objects, f.version = objects, version
			return nil
		}
	}
}

// keep records a resource that is followed, or that it is gone.
func (f *feed[T]) keep(objects map[string]*T, b []byte, gone bool) {
	x := new(T)
	err := unmarshal(b, x)
	m, follows := f.of(x)
	switch {
	case err != nil || m.UID == "" || m.Name == "":
		f.dropped[collectors.Malformed]++
	case gone || !follows:
		delete(objects, m.UID)
	case len(objects) >= f.most && objects[m.UID] == nil:
		f.dropped[collectors.OverLimit]++
	default:
		objects[m.UID] = x
	}
}

func (f *feed[T]) watch(ctx context.Context, k *kube) error {
	wait := max(1, int(k.cfg.Every/time.Second))
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {f.version}, "timeoutSeconds": {strconv.Itoa(wait)}}
	err := k.ask(ctx, f.path(k.cfg.Namespace), query, func(in io.Reader) error {
		d := json.NewDecoder(in)
		for {
			var e struct {
				Type   string
				Object json.RawMessage
			}
			switch err := d.Decode(&e); {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, io.ErrUnexpectedEOF):
				return err
			case err != nil:
				return fmt.Errorf("%w: %w", errForm, err)
			}
			if e.Type == "ERROR" {
				return errGone
			}
			var at struct {
				Metadata struct{ ResourceVersion string }
			}
			if unmarshal(e.Object, &at) == nil && at.Metadata.ResourceVersion != "" {
				f.version = at.Metadata.ResourceVersion
			}
			if e.Type != "BOOKMARK" {
				f.keep(f.objects, e.Object, e.Type == "DELETED")
			}
		}
	})
	if errors.Is(err, errAbsent) {
		err = fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// ask asks the API server.
func (k *kube) ask(ctx context.Context, path string, query url.Values, read func(io.Reader) error) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	q, word, err := question(ctx, k.base+path, k.cfg.Authorization.CredentialsFile)
	if err != nil {
		return err
	}
	if word != "" {
		q.Header.Set("Authorization", "Bearer "+word)
	}
	return answer(k.client, q, k.cfg.MaxBody, read)
}
