package simmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
)

// serve answers one HTTP request.
func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	if !m.enter() {
		panic(http.ErrAbortHandler)
	}
	defer m.active.Done()
	w.Header().Set("request-id", m.nextID("req"))
	req := &Request{Method: r.Method, Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery, Header: r.Header.Clone()}
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		req.refused = true
		m.record(req)
		writeError(w, http.StatusForbidden, "clewtest: the scripted model serves the loopback interface only")
		return
	}
	var err error
	if req.Body, err = io.ReadAll(r.Body); err != nil {
		return // the client has gone
	}
	switch {
	case req.forAnswer():
		m.serveMessages(w, r, req)
	case req.Path == countPath && req.Method == http.MethodPost:
		m.serveCount(w, req)
	default:
		m.record(req)
		serveOther(w, req)
	}
}

// loopback reports whether addr, a host with or without a port, is the loopback interface. A name
// other than localhost does not count: anybody can make a name that resolves to this machine.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// serveMessages answers from the rules.
func (m *Model) serveMessages(w http.ResponseWriter, r *http.Request, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		m.reporter.Errorf("the model got a request that it cannot read: %v\n%s", err, clip(string(req.Body)))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	a, err := m.take(req)
	switch {
	case err == nil:
	case errors.Is(err, errNoRule) && req.background:
		m.reporter.Logf("answered in the background, without a rule:\n%s", describe(req))
		a = NewAnswer(AnswerReply, &wire.TextBlock{Text: "ok"})
	default:
		m.reporter.Errorf("%v:\n%s", err, describe(req))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	m.pause(r, a.Delay)
	m.serveAnswer(w, r, req, a)
}

// serveAnswer carries an answer out.
func (m *Model) serveAnswer(w http.ResponseWriter, r *http.Request, req *Request, a Answer) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	switch {
	case a.Kind == AnswerHang:
		m.hang(r)
	case a.Kind == AnswerFail:
		a.writeFailure(w)
	case req.Stream:
		m.stream(w, r, m.compose(req, &a), a)
	default:
		m.plain(w, m.compose(req, &a), a)
	}
}

// pause waits for d. If the client goes away or the model ends first, it cuts the connection and
// does not return.
func (m *Model) pause(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.done:
		panic(http.ErrAbortHandler)
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// hang waits until the client goes away or the model ends, and then cuts the connection.
func (m *Model) hang(r *http.Request) {
	select {
	case <-m.done:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// serveCount answers with a rough count, one token for four bytes.
func (m *Model) serveCount(w http.ResponseWriter, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 1 + len(req.Body)/4})
}

// serveOther answers paths that a model does not serve: with an error under /v1/, and with an empty
// object elsewhere, where the agent checks that the host is there or reports what it did.
func serveOther(w http.ResponseWriter, req *Request) {
	if strings.HasPrefix(req.Path, "/v1/") {
		writeError(w, http.StatusNotFound, fmt.Sprintf("clewtest: the scripted model has no %s %s", req.Method, req.Path))
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// writeJSON writes v as the whole body. It ignores errors: a client may have gone.
func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("clewtest: %v", err)) // only values of this package come here
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// describe returns what a request asked for, in a few lines.
func describe(req *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  model %s, %d messages, %d tools\n", req.Model, len(req.Messages), len(req.Tools))
	fmt.Fprintf(&b, "  newest prompt: %q", clip(req.Prompt()))
	for _, result := range req.ToolResults() {
		fmt.Fprintf(&b, "\n  result of a tool: %q", clip(result.Text()))
	}
	return b.String()
}

// clip returns the beginning of text.
func clip(text string) string {
	const limit = 500
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// statusOverloaded is the status of an overloaded API.
const statusOverloaded = 529

// An apiFault is the type of an API error and its usual text.
type apiFault struct{ kind, message string }

var apiFaults = map[int]apiFault{
	http.StatusBadRequest:            {"invalid_request_error", "Invalid request"},
	http.StatusUnauthorized:          {"authentication_error", "invalid x-api-key"},
	http.StatusForbidden:             {"permission_error", "Permission denied"},
	http.StatusNotFound:              {"not_found_error", "Not found"},
	http.StatusRequestEntityTooLarge: {"request_too_large", "Request exceeds the maximum size"},
	http.StatusTooManyRequests:       {"rate_limit_error", "This request would exceed your rate limit"},
	http.StatusInternalServerError:   {"api_error", "Internal server error"},
	http.StatusGatewayTimeout:        {"timeout_error", "Request timed out"},
	statusOverloaded:                 {"overloaded_error", "Overloaded"},
}

// writeFailure answers with the error that a rule sets.
func (a *Answer) writeFailure(w http.ResponseWriter) {
	after := a.RetryAfter
	if after <= 0 && a.Status == http.StatusTooManyRequests {
		after = time.Second
	}
	if after > 0 {
		seconds := (after + time.Second - 1) / time.Second
		w.Header().Set("retry-after", strconv.Itoa(int(seconds)))
	}
	writeError(w, a.Status, a.Message)
}

// errorBody is the JSON of an error.
type errorBody struct {
	Type      string      `json:"type"`
	Error     errorDetail `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// writeError answers with an API error. An empty message means the usual one of the status.
func writeError(w http.ResponseWriter, status int, message string) {
	fault, ok := apiFaults[status]
	switch {
	case ok:
	case status >= 400 && status < 500:
		fault = apiFaults[http.StatusBadRequest]
	default:
		fault = apiFaults[http.StatusInternalServerError]
	}
	if message != "" {
		fault.message = message
	}
	writeJSON(w, status, errorBody{
		Type:      "error",
		Error:     errorDetail{Type: fault.kind, Message: fault.message},
		RequestID: w.Header().Get("request-id"),
	})
}
