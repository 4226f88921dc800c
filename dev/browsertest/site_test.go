package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/cmd/clew/internal/web"
)

// A viewerSite is a running web viewer. All of them show the sessions of the home of the tests.
type viewerSite struct {
	*testing.T
	*httptest.Server
	web     *web.Server
	streams atomic.Int64 // event streams that are open
	running atomic.Int64 // all requests that are answered now

	mu      sync.Mutex
	handler http.Handler // that of the server, or another one in its place
	seen    []string     // the requests, with the status of their answers
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams be flushed.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newViewerSite(t *testing.T) *viewerSite {
	t.Helper()
	return viewerOf(t, nil, nil)
}

// viewerOf returns a web viewer whose pages drive agents and show jobs, unless those are nil.
func viewerOf(t *testing.T, agents *drive.Agents, jobs web.Fleet) *viewerSite {
	t.Helper()
	s := &viewerSite{T: t}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	source := view.New(view.Options{Dir: t.TempDir()})
	s.web, err = web.New(web.Options{
		Source: source, Drive: agents, Fleet: jobs, Version: "test", Origins: []string{"http://" + listener.Addr().String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.handler = s.web.Handler()
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	_ = s.Listener.Close() // another one is used
	s.Listener = listener
	s.Start()
	t.Cleanup(func() {
		if err := s.web.Close(); err != nil {
			t.Error(err)
		}
		s.CloseClientConnections()
		s.Close()
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *viewerSite) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		s.streams.Add(1)
		defer s.streams.Add(-1)
	}
	noted := &statusWriter{w, http.StatusOK}
	s.mu.Lock()
	handler := s.handler
	s.mu.Unlock()
	s.running.Add(1)
	defer s.running.Add(-1)
	handler.ServeHTTP(noted, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf("%d %s %s", noted.status, r.Method, r.URL.RequestURI()))
}

// statuses returns the requests that were answered since the last call: "200 GET /".
func (s *viewerSite) statuses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// enter opens a page in a new tab with a code, as the printed URL does.
func (s *viewerSite) enter(path string) *tab {
	s.Helper()
	return s.enterIn(newTab(s.T, s.URL), path)
}

// enterIn is like enter, in a tab.
func (s *viewerSite) enterIn(p *tab, path string) *tab {
	s.Helper()
	p.open(s.URL + path + "#" + s.web.NewCode())
	p.until(`document.querySelector("main > *")`)
	return p
}

// A sessionFile is a transcript that a test writes.
type sessionFile struct {
	*testing.T
	id, path string
	lines    int
	parent   string
	agent    string // the ID of the subagent, or ""
}

var sessionNumber atomic.Int64

// newSession makes an empty session in a project.
func newSession(t *testing.T, project string) *sessionFile {
	t.Helper()
	return newSessionIn(t, os.Getenv("CLAUDE_CONFIG_DIR"), project)
}

// newSessionIn is like newSession, in a directory of the agent.
func newSessionIn(t *testing.T, config, project string) *sessionFile {
	t.Helper()
	f := &sessionFile{T: t, id: fmt.Sprintf("%08x-0000-4000-8000-%012x", sessionNumber.Add(1), time.Now().UnixNano()&0xffffffffffff)}
	dir := filepath.Join(config, "projects", "-work-"+project)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.path = filepath.Join(dir, f.id+".jsonl")
	t.Cleanup(func() { _ = os.Remove(f.path) }) // with -count, the tests run in one home
	return f
}

// entry returns a line of the transcript.
func (f *sessionFile) entry(kind string, message any) []byte {
	f.Helper()
	uuid := fmt.Sprintf("00000000-0000-4000-8000-%012d", f.lines)
	entry := map[string]any{
		"type": kind, "uuid": uuid, "sessionId": f.id, "version": "2.1.325", "cwd": "/home/dev/project", "message": message,
		"timestamp": time.Date(2026, 11, 15, 10, 0, f.lines, 0, time.UTC).Format(time.RFC3339),
	}
	if f.parent != "" {
		entry["parentUuid"] = f.parent
	}
	if f.agent != "" {
		entry["isSidechain"], entry["agentId"] = true, f.agent
	}
	f.lines++
	f.parent = uuid
	line, err := json.Marshal(entry)
	if err != nil {
		f.Fatal(err)
	}
	return append(line, '\n')
}

func (f *sessionFile) prompt(text string) []byte {
	return f.entry("user", map[string]any{"role": "user", "content": text})
}

func (f *sessionFile) answer(text string) []byte {
	return f.entry("assistant", map[string]any{
		"role": "assistant", "id": fmt.Sprintf("m%d", f.lines), "model": "claude-opus-5-5", "stop_reason": "end_turn",
		"content": []any{map[string]any{"type": "text", "text": text}},
		"usage":   map[string]any{"input_tokens": 10, "output_tokens": 5},
	})
}

// call returns the lines of a Bash call and its result.
func (f *sessionFile) call(command, result string, failed bool) []byte {
	return f.use("Bash", map[string]any{"command": command}, result, failed)
}

// edit returns the lines of a change of a file.
func (f *sessionFile) edit(path, before, after string) []byte {
	return f.use("Edit", map[string]any{"file_path": "/home/dev/project/" + path, "old_string": before, "new_string": after}, "The file was changed.", false)
}

// use returns the lines of a tool call and its result.
func (f *sessionFile) use(tool string, input map[string]any, result string, failed bool) []byte {
	id := f.callID()
	return append(f.entry("assistant", map[string]any{
		"role": "assistant", "id": fmt.Sprintf("m%d", f.lines), "model": "claude-opus-5-5", "stop_reason": "tool_use",
		"content": []any{map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input}},
		"usage":   map[string]any{"input_tokens": 10, "output_tokens": 5},
	}), f.entry("user", map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed},
	}})...)
}

// callID is the ID of the next call.
func (f *sessionFile) callID() string { return fmt.Sprintf("call%d", f.lines) }

// subagent writes the transcript of a subagent, and returns the lines of the call that starts it.
func (f *sessionFile) subagent(task, answer string) []byte {
	f.Helper()
	dir := filepath.Join(strings.TrimSuffix(f.path, ".jsonl"), "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(dir)) }) // as the session
	const id = "a0000000000000001"
	meta, err := json.Marshal(map[string]any{"agentType": "Explore", "description": task, "toolUseId": f.callID()})
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent-"+id+".meta.json"), meta, 0o600); err != nil {
		f.Fatal(err)
	}
	below := &sessionFile{T: f.T, id: f.id, path: filepath.Join(dir, "agent-"+id+".jsonl"), agent: id}
	below.write(below.prompt(task+", please."), below.answer(answer))
	return f.use("Agent", map[string]any{"description": task, "prompt": task + ", please.", "subagent_type": "Explore"}, answer, false)
}

// write appends lines to the transcript.
func (f *sessionFile) write(lines ...[]byte) {
	f.Helper()
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := file.Write(bytes.Join(lines, nil)); err != nil {
		f.Fatal(err)
	}
	if err := file.Close(); err != nil {
		f.Fatal(err)
	}
}
