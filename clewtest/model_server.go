package clewtest

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
		return // the client is gone
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

// loopback reports whether addr, a host with or without a port, is this machine as seen from itself. A name other than
// localhost is not: it may have been made to point here by somebody else.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// serveMessages answers a request for an answer by the rules.
func (m *Model) serveMessages(w http.ResponseWriter, r *http.Request, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		m.tb.Errorf("clewtest: the model got a request that it cannot read: %v\n%s", err, clip(string(req.Body)))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	a, err := m.take(req)
	switch {
	case err == nil:
	case errors.Is(err, errNoRule) && req.background:
		m.tb.Logf("clewtest: answered in the background, without a rule:\n%s", describe(req))
		a = m.newRule(nil).Reply(Text("ok")).answer
	default:
		m.tb.Errorf("clewtest: %v:\n%s", err, describe(req))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	m.pause(r, a.delay)
	m.serveAnswer(w, r, req, a)
}

// serveAnswer carries an answer out.
func (m *Model) serveAnswer(w http.ResponseWriter, r *http.Request, req *Request, a answer) {
	switch {
	case a.kind == answerHang:
		m.hang(r)
	case a.kind == answerFail:
		a.writeFailure(w)
	case req.Stream:
		m.stream(w, r, m.compose(req, &a), a)
	default:
		m.plain(w, m.compose(req, &a), a)
	}
}

// pause waits for d. When the client or the test ends first, it cuts the connection and does not return.
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

// hang waits until the client or the test ends, and then cuts the connection.
func (m *Model) hang(r *http.Request) {
	select {
	case <-m.done:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// serveCount answers with a rough count: four bytes a token.
func (m *Model) serveCount(w http.ResponseWriter, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 1 + len(req.Body)/4})
}

// serveOther answers what a model does not serve: an error under /v1/, and an empty object elsewhere, where the agent
// looks whether the host is there or reports what it did.
func serveOther(w http.ResponseWriter, req *Request) {
	if strings.HasPrefix(req.Path, "/v1/") {
		writeError(w, http.StatusNotFound, fmt.Sprintf("clewtest: the scripted model has no %s %s", req.Method, req.Path))
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// writeJSON writes v as the whole body. A client that is gone by then is no fault of the test.
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

// describe tells what a request asked, in a few lines.
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
