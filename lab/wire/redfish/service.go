package redfish

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	root        = "/redfish/v1"
	maxSessions = 16 // as small as on a controller
	maxEntries  = 1000
)

// service is a device that listens.
type service struct {
	device   *device
	fleet    *Fleet
	listener net.Listener
	server   *http.Server

	mu       sync.Mutex
	flaws    []Flaw
	sessions map[string]time.Time // tokens, and when each was used last
	entries  []object             // of the log
	number   int
	streams  map[chan []byte]bool
	conns    map[net.Conn]bool
	tally    Tally
	flying   int // requests at this moment
}

func (s *service) address() string { return "https://" + s.listener.Addr().String() }

// ServeHTTP answers one request.
func (s *service) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimRight(req.URL.Path, "/")
	stream := path == root+"/EventService/SSE"
	s.mu.Lock()
	s.tally.Asked++
	if !stream {
		s.flying++
		s.tally.Most = max(s.tally.Most, s.flying)
	}
	flaw := s.flawOf(path)
	s.mu.Unlock()
	if !stream {
		defer func() {
			s.mu.Lock()
			s.flying--
			s.mu.Unlock()
		}()
	}
	if flaw != nil && flaw.before(w, req) {
		return
	}
	switch {
	case path == root+"/SessionService/Sessions" && req.Method == http.MethodPost:
		s.login(w, req)
		return
	case path == root || path == "/redfish":
	case !s.allowed(req):
		s.refuse(w, http.StatusUnauthorized, "Base.1.18.InsufficientPrivilege")
		return
	case strings.HasPrefix(path, root+"/SessionService/Sessions/") && req.Method == http.MethodDelete:
		s.logout(req)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if req.Method != http.MethodGet {
		s.refuse(w, http.StatusMethodNotAllowed, "Base.1.18.OperationNotAllowed")
		return
	}
	if stream {
		s.serveStream(w, req)
		return
	}
	s.serve(w, req, path, flaw)
}

// serve answers a GET of a resource.
func (s *service) serve(w http.ResponseWriter, req *http.Request, path string, flaw *Flaw) {
	doc := s.document(path)
	if doc == nil {
		s.refuse(w, http.StatusNotFound, "Base.1.18.ResourceMissingAtURI")
		return
	}
	if levels := s.levels(req); levels > 0 {
		s.expand(doc, levels)
	}
	if flaw != nil {
		doc = flaw.change(doc)
	}
	body, err := json.Marshal(doc)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "Base.1.18.InternalError")
		return
	}
	if flaw != nil {
		body = flaw.damage(body)
	}
	sum := fnv.New64a()
	_, _ = sum.Write(body)
	tag := fmt.Sprintf("W/%q", strconv.FormatUint(sum.Sum64(), 16))
	w.Header().Set("ETag", tag)
	w.Header().Set("OData-Version", "4.0")
	if req.Header.Get("If-None-Match") == tag {
		s.mu.Lock()
		s.tally.Same++
		s.mu.Unlock()
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// document makes a resource's document; nil where there is none.
func (s *service) document(path string) object {
	if path == root+"/"+s.device.log+"/Entries" && s.device.log != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		members := make([]any, 0, len(s.entries))
		for _, e := range s.entries {
			members = append(members, e)
		}
		return object{"@odata.id": path, "@odata.type": "#LogEntryCollection.LogEntryCollection", "Name": "Log Entries", "Members": members, "Members@odata.count": len(members)}
	}
	if rest, ok := strings.CutPrefix(path, root+"/SessionService/Sessions"); ok {
		return s.session(rest)
	}
	return s.device.document(strings.TrimPrefix(strings.TrimPrefix(path, root), "/"))
}

// session makes the list of sessions, or one of them.
func (s *service) session(rest string) object {
	const path = root + "/SessionService/Sessions"
	s.mu.Lock()
	defer s.mu.Unlock()
	members := []any{}
	for _, token := range slices.Sorted(maps.Keys(s.sessions)) {
		id := token[:8]
		if rest == "/"+id {
			return object{"@odata.id": path + rest, "@odata.type": "#Session.v1_7_0.Session", "Id": id, "Name": "User Session", "UserName": User}
		}
		members = append(members, object{"@odata.id": path + "/" + id})
	}
	if rest != "" {
		return nil
	}
	return object{"@odata.id": path, "@odata.type": "#SessionCollection.SessionCollection", "Name": "Session Collection", "Members": members, "Members@odata.count": len(members)}
}

// levels is how deep a request wants members in place of their links.
func (s *service) levels(req *http.Request) int {
	q := req.URL.Query().Get("$expand")
	if q == "" || s.fleet.cfg.NoExpand {
		return 0
	}
	_, after, _ := strings.Cut(q, "levels=")
	n, err := strconv.Atoi(strings.TrimRight(after, ")"))
	if err != nil {
		return 1
	}
	return min(max(n, 1), 4)
}

func (s *service) expand(doc object, levels int) {
	for name, x := range doc {
		if name == "Links" {
			continue
		}
		switch x := x.(type) {
		case object:
			doc[name] = s.inPlace(x, levels)
		case []any:
			if name != "Members" {
				continue
			}
			for i := range x {
				if o, ok := x[i].(object); ok {
					x[i] = s.inPlace(o, levels)
				}
			}
		}
	}
}

func (s *service) inPlace(ref object, levels int) object {
	id, ok := ref["@odata.id"].(string)
	if !ok || len(ref) != 1 {
		return ref
	}
	doc := s.document(id)
	if doc == nil {
		return ref
	}
	if levels > 1 {
		s.expand(doc, levels-1)
	}
	return doc
}

func (s *service) refuse(w http.ResponseWriter, status int, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": id, "message": http.StatusText(status)}})
}

// allowed reports whether a request states which process it is.
func (s *service) allowed(req *http.Request) bool {
	if user, password, ok := req.BasicAuth(); ok {
		return s.knows(user, password)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := req.Header.Get("X-Auth-Token")
	used, ok := s.sessions[token]
	if !ok || time.Since(used) > s.fleet.cfg.SessionTimeout {
		delete(s.sessions, token)
		return false
	}
	s.sessions[token] = time.Now()
	return true
}

func (s *service) knows(user, password string) bool {
	return user == User && subtle.ConstantTimeCompare([]byte(password), []byte(s.fleet.password)) == 1
}

func (s *service) login(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.tally.Logins++
	s.mu.Unlock()
	var who struct{ UserName, Password string }
	body, err := io.ReadAll(io.LimitReader(req.Body, 4096))
	if err != nil || json.Unmarshal(body, &who) != nil || !s.knows(who.UserName, who.Password) {
		s.refuse(w, http.StatusUnauthorized, "Base.1.18.ResourceAtUriUnauthorized")
		return
	}
	secret := make([]byte, 10)
	if _, err := rand.Read(secret); err != nil {
		s.refuse(w, http.StatusInternalServerError, "Base.1.18.InternalError")
		return
	}
	token := hex.EncodeToString(secret)
	s.mu.Lock()
	for t, used := range s.sessions {
		if time.Since(used) > s.fleet.cfg.SessionTimeout {
			delete(s.sessions, t)
		}
	}
	full := len(s.sessions) >= maxSessions
	if !full {
		s.sessions[token] = time.Now()
	}
	s.mu.Unlock()
	if full {
		s.refuse(w, http.StatusServiceUnavailable, "Base.1.18.SessionLimitExceeded")
		return
	}
	location := root + "/SessionService/Sessions/" + token[:8]
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", location)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object{"@odata.id": location, "@odata.type": "#Session.v1_7_0.Session", "Id": token[:8], "Name": "User Session", "UserName": User})
}

func (s *service) logout(req *http.Request) {
	id := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.sessions {
		if strings.HasPrefix(token, id) && len(id) == 8 {
			delete(s.sessions, token)
		}
	}
}

// Tally is what a service was asked.
type Tally struct {
	Asked       int // requests
	Most        int // at most at one moment, the event stream not counted
	Same        int // answered with 304
	Logins      int // tried
	Connections int // open now
	Sessions    int // open now
	Listeners   int // on the event stream now
}

// Tally states what the service of an entity was asked.
func (f *Fleet) Tally(e telemetry.Entity) (t Tally) {
	for _, s := range f.services {
		if s.device.entity == e {
			s.mu.Lock()
			t = s.tally
			t.Sessions, t.Listeners, t.Connections = len(s.sessions), len(s.streams), len(s.conns)
			s.mu.Unlock()
		}
	}
	return t
}

// EndSessions forgets every session of an entity's service, as a restart does.
func (f *Fleet) EndSessions(e telemetry.Entity) {
	for _, s := range f.services {
		if s.device.entity == e {
			s.mu.Lock()
			clear(s.sessions)
			s.mu.Unlock()
		}
	}
}

// serveStream sends events as they happen.
func (s *service) serveStream(w http.ResponseWriter, req *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		s.refuse(w, http.StatusInternalServerError, "Base.1.18.InternalError")
		return
	}
	messages := make(chan []byte, 64)
	s.mu.Lock()
	s.streams[messages] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, messages)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flusher.Flush()
	s.send(req.Context(), messages, func(b []byte) bool {
		_, err := w.Write(b)
		flusher.Flush()
		return err == nil
	})
}

func (s *service) send(ctx context.Context, messages chan []byte, write func([]byte) bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case b, ok := <-messages:
			if !ok || !write(b) {
				return
			}
		}
	}
}

// HangUp ends the event streams of an entity's service.
func (f *Fleet) HangUp(e telemetry.Entity) {
	for _, s := range f.services {
		if s.device.entity == e {
			s.mu.Lock()
			for c := range s.streams {
				close(c)
				delete(s.streams, c)
			}
			s.mu.Unlock()
		}
	}
}

// publish notes what happened, if it concerns this service, in its log and on its
// event stream.
func (s *service) publish(e *telemetry.Event) {
	origin, args, ok := s.device.about(e)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	id := strconv.Itoa(s.number)
	at := time.Unix(0, int64(e.At)).UTC().Format(time.RFC3339Nano)
	what := object{"MessageId": "ResourceEvent.1.2.ResourceErrorsDetected", "Message": "The resource property " + args[0] + " has detected errors of type '" + args[1] + "'.",
		"MessageArgs": []any{args[0], args[1]}, "Severity": "Critical"}
	entry := object{"@odata.id": root + "/" + s.device.log + "/Entries/" + id, "@odata.type": "#LogEntry.v1_15_0.LogEntry", "Id": id, "Name": "Log Entry " + id, "EntryType": "Event",
		"Created": at, "Links": object{"OriginOfCondition": object{"@odata.id": origin}}}
	event := object{"EventId": id, "EventTimestamp": at, "MemberId": "0", "OriginOfCondition": origin}
	for k, v := range what {
		entry[k], event[k] = v, v
	}
	if s.entries = append(s.entries, entry); len(s.entries) > maxEntries {
		s.entries = s.entries[1:]
	}
	body, err := json.Marshal(object{"@odata.type": "#Event.v1_4_0.Event", "Id": id, "Name": "Event Log", "Context": "", "Events": []any{event}})
	if err != nil {
		return
	}
	message := []byte("id: " + id + "\ndata: " + string(body) + "\n\n")
	for c := range s.streams {
		select {
		case c <- message:
		default: // a listener that does not keep up misses it, as on a controller
		}
	}
}
