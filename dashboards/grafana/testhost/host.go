package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
)

const pluginID = "quintet-quintet-datasource"

// host is the data source and who answers for it.
type host struct {
	*process
	mu       sync.Mutex
	settings backend.DataSourceInstanceSettings
}

func newHost(p *process, quintet string) *host {
	return &host{process: p, settings: backend.DataSourceInstanceSettings{
		ID: 1, UID: "quintet", Type: pluginID, Name: "Quintet", URL: quintet, JSONData: []byte(`{}`), Updated: time.Now(),
		DecryptedSecureJSONData: map[string]string{},
	}}
}

// handler answers those of Grafana's paths which the front end asks for.
func (h *host) handler(page, dist http.FileSystem) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/ds/query", h.query)
	mux.HandleFunc("GET /api/datasources/uid/quintet/resources/{path...}", h.call)
	mux.HandleFunc("GET /api/datasources/uid/quintet/health", h.health)
	mux.HandleFunc("PUT /api/datasources/uid/quintet", h.save)
	mux.HandleFunc("GET /live/{path...}", h.live)
	mux.Handle("GET /plugin/", http.StripPrefix("/plugin/", http.FileServer(dist)))
	mux.Handle("GET /", http.FileServer(page))
	return mux
}

func (h *host) context() *pluginv2.PluginContext {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.settings
	return backend.ToProto().PluginContext(backend.PluginContext{OrgID: 1, PluginID: pluginID, DataSourceInstanceSettings: &s})
}

// query answers as Grafana's /api/ds/query does: milliseconds in, frames out.
func (h *host) query(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Queries  []json.RawMessage `json:"queries"`
		From, To string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	from, err := millis(body.From)
	to, err2 := millis(body.To)
	if err := errors.Join(err, err2); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	req := &backend.QueryDataRequest{}
	for _, q := range body.Queries {
		var known struct {
			RefID         string `json:"refId"`
			QueryType     string `json:"queryType"`
			MaxDataPoints int64  `json:"maxDataPoints"`
		}
		if err := json.Unmarshal(q, &known); err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		req.Queries = append(req.Queries, backend.DataQuery{RefID: known.RefID, QueryType: known.QueryType, MaxDataPoints: known.MaxDataPoints, JSON: q, TimeRange: backend.TimeRange{From: from, To: to}})
	}
	proto := backend.ToProto().QueryDataRequest(req)
	proto.PluginContext = h.context()
	got, err := h.data.QueryData(r.Context(), proto)
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	out, err := backend.FromProto().QueryDataResponse(got)
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	status := http.StatusOK
	for _, one := range out.Responses {
		if one.Error != nil {
			status = http.StatusMultiStatus
		}
	}
	answer(w, status, out)
}

func millis(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	return time.UnixMilli(n), err
}

func (h *host) call(w http.ResponseWriter, r *http.Request) {
	c, err := h.resource.CallResource(r.Context(), &pluginv2.CallResourceRequest{
		PluginContext: h.context(), Method: r.Method, Path: r.PathValue("path"), Url: r.PathValue("path") + "?" + r.URL.RawQuery,
	})
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	for first := true; ; first = false {
		part, err := c.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			refuse(w, http.StatusBadGateway, err)
			return
		}
		if first {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(part.Code))
		}
		_, _ = w.Write(part.Body)
	}
}

func (h *host) health(w http.ResponseWriter, r *http.Request) {
	got, err := h.diagnostics.CheckHealth(r.Context(), &pluginv2.CheckHealthRequest{PluginContext: h.context()})
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	status := http.StatusOK
	if got.Status != pluginv2.CheckHealthResponse_OK {
		status = http.StatusBadRequest
	}
	answer(w, status, map[string]any{"status": got.Status.String(), "message": got.Message, "details": json.RawMessage(or(got.JsonDetails, "{}"))})
}

func or(b []byte, usual string) []byte {
	if len(b) == 0 {
		return []byte(usual)
	}
	return b
}

// save accepts the settings of the config editor.
func (h *host) save(w http.ResponseWriter, r *http.Request) {
	var body struct {
		URL            string            `json:"url"`
		BasicAuth      bool              `json:"basicAuth"`
		BasicAuthUser  string            `json:"basicAuthUser"`
		JSONData       json.RawMessage   `json:"jsonData"`
		SecureJSONData map[string]string `json:"secureJsonData"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings.URL, h.settings.BasicAuthEnabled, h.settings.BasicAuthUser = body.URL, body.BasicAuth, body.BasicAuthUser
	h.settings.JSONData = or(body.JSONData, "{}")
	for k, v := range body.SecureJSONData {
		h.settings.DecryptedSecureJSONData[k] = v
	}
	h.settings.Updated = time.Now() // by this the back end knows that they have changed
	answer(w, http.StatusOK, map[string]string{"message": "saved"})
}

// live passes a channel on as server-sent events: first the initial data of a
// subscription, then the data of the stream.
func (h *host) live(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("path")
	first, err := h.stream.SubscribeStream(r.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: h.context(), Path: path})
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	if first.Status != pluginv2.SubscribeStreamResponse_OK {
		refuse(w, http.StatusNotFound, errors.New(first.Status.String()))
		return
	}
	run, err := h.stream.RunStream(r.Context(), &pluginv2.RunStreamRequest{PluginContext: h.context(), Path: path})
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for data := first.Data; ; {
		fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(string(data), "\n", " "))
		if err := out.Flush(); err != nil {
			return
		}
		packet, err := run.Recv()
		if err != nil {
			return
		}
		data = packet.Data
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": err.Error()})
}
