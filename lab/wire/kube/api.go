package kube

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// handler answers what an API server does of its resources, and what clients ask
// before.
func (f *Fleet) handler() http.Handler {
	mux := http.NewServeMux()
	whole := func(doc object) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answer(w, doc) }
	}
	mux.HandleFunc("GET /version", whole(object{"major": "1", "minor": "33", "gitVersion": "v1.33.1", "platform": "linux/amd64"}))
	mux.HandleFunc("GET /api", whole(object{"kind": "APIVersions", "versions": []any{"v1"}}))
	var groups []any
	for _, k := range f.kinds.all() {
		mux.HandleFunc("GET "+k.path(), whole(object{"kind": "APIResourceList", "groupVersion": k.version,
			"resources": []any{object{"name": k.plural, "singularName": strings.ToLower(k.name), "namespaced": true, "kind": k.name, "verbs": []any{"get", "list", "watch"}}}}))
		mux.HandleFunc("GET "+k.path()+"/"+k.plural, f.read(k))
		mux.HandleFunc("GET "+k.path()+"/namespaces/{namespace}/"+k.plural, f.read(k))
		if group, version, ok := strings.Cut(k.version, "/"); ok {
			v := object{"groupVersion": k.version, "version": version}
			doc := object{"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": []any{v}, "preferredVersion": v}
			mux.HandleFunc("GET /apis/"+group, whole(doc))
			groups = append(groups, doc)
		}
	}
	mux.HandleFunc("GET /apis", whole(object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if word, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || subtle.ConstantTimeCompare([]byte(word), []byte(f.token)) == 0 {
			refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, doc object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // who asked may be gone
}

// status is what the API answers to a request that it does not grant.
func status(code int, reason, message string) object {
	return object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "message": message, "reason": reason, "code": code}
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code, reason, message)) // who asked may be gone
}

func (f *Fleet) read(k *kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("watch") {
		case "", "0", "false":
			f.list(w, r, k)
		default:
			f.watch(w, r, k)
		}
	}
}

// list answers a page of a kind. Its token names the version that the first page
// was of and where the next begins.
func (f *Fleet) list(w http.ResponseWriter, r *http.Request, k *kind) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // 0: all
	f.mu.Lock()
	version, after := f.version, ""
	if word := q.Get("continue"); word != "" {
		n, name, ok := strings.Cut(word, ":")
		var err error
		if version, err = strconv.Atoi(n); !ok || err != nil {
			f.mu.Unlock()
			refuse(w, http.StatusBadRequest, "BadRequest", "continue key is not valid")
			return
		}
		after = name
	}
	var all []item
	for _, x := range f.items {
		if h := x.head(); h.of == k && h.in(r) && h.key() > after {
			all = append(all, x)
		}
	}
	f.mu.Unlock()
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.head().key(), b.head().key()) })
	meta := object{"resourceVersion": strconv.Itoa(version)}
	if limit > 0 && len(all) > limit {
		meta["continue"], meta["remainingItemCount"] = fmt.Sprintf("%d:%s", version, all[limit-1].head().key()), len(all)-limit
		all = all[:limit]
	}
	items := make([]any, 0, len(all))
	for _, x := range all {
		items = append(items, x.object())
	}
	answer(w, object{"kind": k.name + "List", "apiVersion": k.version, "metadata": meta, "items": items})
}

// A watch lasts so long where the client states nothing.
const watchFor = 30 * time.Minute

// watch sends the changes since a version, and goes on sending. A client that asks
// from before the oldest remembered version has to list again.
func (f *Fleet) watch(w http.ResponseWriter, r *http.Request, k *kind) {
	q := r.URL.Query()
	since, err := strconv.Atoi(q.Get("resourceVersion"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", "resourceVersion: want the version of a list")
		return
	}
	lasts := watchFor
	if n, err := strconv.Atoi(q.Get("timeoutSeconds")); err == nil && n > 0 {
		lasts = time.Duration(n) * time.Second
	}
	over := time.NewTimer(lasts)
	defer over.Stop()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	for {
		news, changed, gone := f.since(since)
		if gone {
			_ = enc.Encode(object{"type": "ERROR", "object": status(http.StatusGone, "Expired", fmt.Sprintf("too old resource version: %d", since))})
			return
		}
		for _, c := range news {
			since = c.version
			if h := c.item.head(); h.of == k && h.in(r) && enc.Encode(object{"type": c.what, "object": c.item.object()}) != nil {
				return
			}
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-over.C:
			if q.Get("allowWatchBookmarks") == "true" {
				_ = enc.Encode(object{"type": "BOOKMARK", "object": object{"kind": k.name, "apiVersion": k.version, "metadata": object{"resourceVersion": strconv.Itoa(since)}}})
			}
			return
		}
	}
}

// since lists the changes after a version, and the channel that announces the next
// one; gone where they are not remembered that far back.
func (f *Fleet) since(version int) (news []change, changed <-chan struct{}, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changes) > 0 && version < f.changes[0].version-1 {
		return nil, nil, true
	}
	i, _ := slices.BinarySearchFunc(f.changes, version+1, func(c change, v int) int { return cmp.Compare(c.version, v) })
	return slices.Clone(f.changes[i:]), f.changed, false
}
