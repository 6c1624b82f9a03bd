package client

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read decodes a stream and tells its events, one in a line.
func read(text string, slowly bool) (string, error) {
	var out strings.Builder
	var r = iotest.DataErrReader(strings.NewReader(text))
	if slowly {
		r = iotest.OneByteReader(r)
	}
	err := ReadEvents(r, func() {}, func(e StreamEvent) error {
		fmt.Fprintf(&out, "%s|%s|%v|%s\n", e.Name, e.ID, e.Own, e.Data)
		return nil
	})
	return out.String(), err
}

func TestReadEvents(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"", ""},
		"a comment":              {": still here\n\n", ""},
		"one":                    {"event: incident\nid: 7\ndata: {}\n\n", "incident|7|true|{}\n"},
		"no space":               {"event:incident\nid:7\ndata:{}\n\n", "incident|7|true|{}\n"},
		"two lines of data":      {"data: a\ndata: b\n\n", "||false|a\nb\n"},
		"an id that holds on":    {"id: 7\ndata: a\n\ndata: b\n\n", "|7|true|a\n|7|false|b\n"},
		"no data is no event":    {"event: incident\nid: 7\n\ndata: b\n\n", "|7|false|b\n"},
		"CR":                     {"event: x\rdata: a\r\rdata: b\r\r", "x||false|a\n||false|b\n"},
		"CR LF":                  {"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "x||false|a\n||false|b\n"},
		"an unfinished event":    {"data: a\n\nevent: x\ndata: b\n", "||false|a\n"},
		"an unfinished line":     {"data: a\n\ndata: b", "||false|a\n"},
		"fields nobody knows":    {"colour: red\nretry: 10\ndata: a\n\n", "||false|a\n"},
		"a field without value":  {"data\n\n", "||false|\n"},
		"an id with a zero byte": {"id: 7\x00\ndata: a\n\n", "||false|a\n"},
	} {
		for _, slowly := range []bool{false, true} {
			got, err := read(c.text, slowly)
			if err != nil || got != c.want {
				t.Errorf("%s (byte by byte: %v): %q, %v; want %q", name, slowly, got, err, c.want)
			}
		}
	}
}

// A line, or an event, that is too long is an error, not memory.
func TestEventsThatAreTooLong(t *testing.T) {
	for name, text := range map[string]string{
		"a line":   "data: " + strings.Repeat("x", maxEvent+1) + "\n\n",
		"an event": strings.Repeat("data: "+strings.Repeat("x", maxEvent/4)+"\n", 6) + "\n",
	} {
		if _, err := read(text, false); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// However a stream arrives, in whichever pieces and whichever line ends, it says
// the same.
func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("event: incident\nid: 7\ndata: {}\n\n: c\r\n\r\ndata: a\rdata\r\r"))
	f.Add([]byte("id: 7\x00\n\n\ndata:\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := read(string(b), false)
		pieces, err2 := read(string(b), true)
		if whole != pieces || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v; byte by byte %q, %v", whole, err, pieces, err2)
		}
		if bytes.IndexByte(b, '\r') < 0 {
			if crlf, _ := read(strings.ReplaceAll(string(b), "\n", "\r\n"), false); crlf != whole {
				t.Fatalf("%q; with CR LF %q", whole, crlf)
			}
		}
	})
}

// TestFollowGoesOnBehindAnEvent has a server end the stream, and reads on behind the
// last event.
func TestFollowGoesOnBehindAnEvent(t *testing.T) {
	var after []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after = append(after, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: incident\nid: %d\ndata: {}\n\n", len(after))
	}))
	defer server.Close()
	c, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for range 3 {
		err := c.Follow(t.Context(), last, func() {}, func(e StreamEvent) error { last = e.ID; return nil })
		if !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
	}
	if !slices.Equal(after, []string{"", "1", "2"}) {
		t.Errorf("asked for what is behind %q", after)
	}
}
