package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/httputil"
)

// question answers one request.
type question func(*http.Request) (result, error)

// result is the data of an answer: data that encoding/json can write, or JSON that
// is written already.
type result struct {
	data     any
	encoded  []byte // in the place of data
	warnings annotations.Annotations
}

// badData is an error of the request.
type badData struct{ error }

// invalid returns the error of a parameter.
func invalid(parameter string, err error) error {
	return badData{fmt.Errorf("invalid parameter %q: %w", parameter, err)}
}

// statusCanceled is what nginx, and Prometheus after it, answer where the client
// has closed the connection.
const statusCanceled = 499

// status returns the HTTP status and Prometheus' name for an error.
func status(err error) (int, string) {
	var (
		bad      badData
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
		storage  promql.ErrStorage
	)
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest, "bad_data"
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return statusCanceled, "canceled"
	case errors.As(err, &timeout):
		return http.StatusServiceUnavailable, "timeout"
	case errors.As(err, &storage):
		return http.StatusInternalServerError, "internal"
	}
	return http.StatusUnprocessableEntity, "execution"
}

// asked is the handler of a question. The form of a POST is read up to the limit
// that net/http sets, 10 MB.
func (a *API) asked(f question) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			answer(w, http.StatusBadRequest, "bad_data", fmt.Sprintf("error parsing form values: %v", err))
			return
		}
		res, err := f(r.WithContext(httputil.ContextFromRequest(r.Context(), r)))
		if err != nil {
			code, kind := status(err)
			answer(w, code, kind, err.Error())
			return
		}
		if err := res.write(w, r.FormValue("query")); err != nil {
			a.cfg.Logger.Debug("query API: write response", "path", r.URL.Path, "error", err)
		}
	})
}

// warned is how many warnings, and how many infos, an answer has at most.
const warned = 10

// write writes the answer. The first error is that of the connection, or of data
// that has no JSON.
func (res result) write(w http.ResponseWriter, query string) error {
	data := res.encoded
	if data == nil {
		var err error
		if data, err = json.Marshal(res.data); err != nil {
			answer(w, http.StatusInternalServerError, "internal", err.Error())
			return err
		}
	}
	var b bytes.Buffer
	b.Grow(len(data) + 64)
	b.WriteString(`{"status":"success","data":`)
	b.Write(data)
	warnings, infos := res.warnings.AsStrings(query, warned, warned)
	for _, x := range []struct {
		name string
		text []string
	}{{"warnings", warnings}, {"infos", infos}} {
		if len(x.text) == 0 {
			continue
		}
		text, err := json.Marshal(x.text)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `,%q:%s`, x.name, text)
	}
	b.WriteByte('}')
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(b.Bytes())
	return err
}

// minTime and maxTime return what Prometheus takes for the beginning and the end of
// everything.
func minTime() time.Time { return time.Unix(math.MinInt64/1000+62135596801, 0).UTC() }
func maxTime() time.Time { return time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC() }

// instantOf reads a time: seconds since 1970 with a fraction, or RFC 3339. An
// absent one is without.
func instantOf(r *http.Request, name string, without time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" && !without.IsZero() {
		return without, nil
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		whole, part := math.Modf(s)
		return time.Unix(int64(whole), int64(math.Round(part*1000)*1e6)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	switch text { // their years have more than four digits
	case minTime().Format(time.RFC3339Nano):
		return minTime(), nil
	case maxTime().Format(time.RFC3339Nano):
		return maxTime(), nil
	}
	return time.Time{}, invalid(name, fmt.Errorf("cannot parse %q to a valid timestamp", text))
}

// durationOf reads a duration: seconds, or a number with a unit as PromQL has it.
func durationOf(r *http.Request, name string) (time.Duration, error) {
	text := r.FormValue(name)
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if ns := s * float64(time.Second); math.Abs(ns) < math.MaxInt64 {
			return time.Duration(ns), nil
		}
		return 0, invalid(name, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text))
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, invalid(name, fmt.Errorf("cannot parse %q to a valid duration", text))
	}
	return time.Duration(d), nil
}

// limitOf reads how many results are wanted at most; 0 is all of them.
func limitOf(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalid("limit", fmt.Errorf("cannot parse %q to a valid integer", text))
	case n < 0:
		return 0, invalid("limit", errors.New("limit must be non-negative"))
	}
	return n, nil
}

// errTruncated is the warning of an answer that a limit cut.
var errTruncated = errors.New("results truncated due to limit")

// bounded returns the first limit of some, and adds a warning if there were more.
func bounded[T any](all []T, limit int, w annotations.Annotations) ([]T, annotations.Annotations) {
	if limit > 0 && len(all) > limit {
		return all[:limit], w.Add(errTruncated)
	}
	return all, w
}
