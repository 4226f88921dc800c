package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/cmd/clew/internal/web"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/shelltest"
)

func TestServeScreen(t *testing.T) {
	t.Parallel()
	tcp := &web.Listener{Origins: []string{"http://127.0.0.1:2539"}}
	socket := &web.Listener{Socket: "/home/me/clew.sock"}
	var text strings.Builder
	for _, width := range []int{40, 80} {
		for _, o := range []*serveOptions{{}, {drive: true, open: true}, {address: web.Address{Listen: "192.0.2.7:2539"}}} {
			fmt.Fprintf(&text, "%s\n", o.greeting(tcp, "CODE", width))
		}
		fmt.Fprintf(&text, "%s\n", new(serveOptions).greeting(socket, "CODE", width))
	}
	golden.Check(t, "screens/serve", text.String())
}

// A served is a server of a test.
type served struct {
	serving
	t    *testing.T
	errs bytes.Buffer
	stop context.CancelFunc
	code chan int
}

// serve starts the command in an empty home, and returns when it listens.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{t: t, stop: cancel, code: make(chan int, 1)}
	r, w := io.Pipe()
	go func() {
		s.code <- execute(ctx, append([]string{"serve", "--json"}, args...), Streams{Out: w, Err: &s.errs})
		_ = w.Close()
	}()
	t.Cleanup(func() { s.end() })
	if err := json.NewDecoder(r).Decode(&s.serving); err != nil {
		cancel()
		t.Fatalf("%v: %s", err, s.errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // the end of the line
	return s
}

// end ends the server as Ctrl-C does.
func (s *served) end() {
	s.t.Helper()
	if s.stop == nil {
		return
	}
	s.stop()
	s.stop = nil
	if code := <-s.code; code != clikit.ExitDone {
		s.t.Errorf("exit code %d: %s", code, s.errs.String())
	}
}

// serveHome is an environment without sessions.
func serveHome(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "CLAUDE_CONFIG_DIR": filepath.Join(dir, "claude"), "XDG_RUNTIME_DIR": filepath.Join(dir, "run"),
		"XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
	} {
		t.Setenv(name, value)
	}
	return dir
}

// request sends a request as a program would, and returns the status and the body.
func (s *served) request(client *http.Client, method, path, token, body string) (int, string) {
	s.t.Helper()
	base, _, _ := strings.Cut(s.URL, "/#")
	req, err := http.NewRequestWithContext(s.t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// login exchanges a code for the token.
func (s *served) login(client *http.Client, code string) string {
	s.t.Helper()
	status, body := s.request(client, "POST", "/api/v1/login", "", fmt.Sprintf(`{"code":%q}`, code))
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(body), &answer); status != http.StatusOK || err != nil || answer.Token == "" {
		s.t.Fatalf("%d %s", status, body)
	}
	return answer.Token
}

// A browser logs in with the printed code, once. Another command makes another link, and a new token,
// with which the old one ends.
func TestServe(t *testing.T) { // not parallel: it sets variables
	dir := serveHome(t)
	s := serve(t, "--port", "0")
	client := &http.Client{}
	defer client.CloseIdleConnections()
	token := s.login(client, s.Code)
	if status, body := s.request(client, "POST", "/api/v1/login", "", fmt.Sprintf(`{"code":%q}`, s.Code)); status != http.StatusUnauthorized {
		t.Errorf("the same code again: %d %s", status, body)
	}
	if status, body := s.request(client, "GET", "/api/v1/me", token, ""); status != http.StatusOK || !strings.Contains(body, `"drive":false`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := s.request(client, "POST", "/api/v1/agents", token, "{}"); status != http.StatusForbidden || !strings.Contains(body, "--drive") {
		t.Errorf("%d %s", status, body)
	}
	stream := s.openStream(client, token)
	var link, errs bytes.Buffer
	if code := execute(t.Context(), []string{"serve", "--rotate"}, Streams{Out: &link, Err: &errs}); code != clikit.ExitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream of the old token does not end in order: %v", err)
	}
	if status, _ := s.request(client, "GET", "/api/v1/me", token, ""); status != http.StatusUnauthorized {
		t.Errorf("the old token: %d", status)
	}
	_, code, _ := strings.Cut(strings.TrimSpace(link.String()), "#")
	token = s.login(client, code)
	s.checkFiles(dir, token)
	s.end()
	if left, _ := filepath.Glob(filepath.Join(dir, "run", "clew", "*")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
}

// The server shows the jobs of this machine's fleet, or of another one. A server that is started
// without a fleet shows its jobs as soon as there is one.
func TestServeJobs(t *testing.T) { // not parallel: it sets variables
	dir := serveHome(t)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	check := func(want string, args ...string) {
		t.Helper()
		s := serve(t, append([]string{"--port", "0"}, args...)...)
		defer s.end()
		token := s.login(client, s.Code)
		_, me := s.request(client, "GET", "/api/v1/me", token, "")
		if has := strings.Contains(me, `"fleet":true`); has != (want != "") {
			t.Errorf("%q: the page of jobs is there: %v", args, has)
		}
		status, body := s.request(client, "GET", "/api/v1/jobs", token, "")
		if want == "" && status != http.StatusNotFound || want != "" && !strings.Contains(body, want) {
			t.Errorf("%q: %d %s", args, status, body)
		}
	}
	check("")
	early := serve(t, "--port", "0")
	token := early.login(client, early.Code)
	for _, name := range []string{"state/clew/fleet", "other"} {
		f := openTestFleet(t, filepath.Join(dir, name))
		if _, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "A job of " + name}); err != nil {
			t.Fatal(err)
		}
	}
	polltest.Until(t, "the server that was there first has jobs", func() bool { // it does not look all the time
		_, body := early.request(client, "GET", "/api/v1/jobs", token, "")
		return strings.Contains(body, "A job of state/clew/fleet")
	})
	if _, me := early.request(client, "GET", "/api/v1/me", token, ""); !strings.Contains(me, `"fleet":true`) {
		t.Errorf("there is no page of jobs: %s", me)
	}
	early.end()
	check("A job of state/clew/fleet")
	check("A job of other", "--fleet", filepath.Join(dir, "other"))
	t.Setenv("CLEW_FLEET", filepath.Join(dir, "other"))
	check("A job of other")
}

// openStream opens the stream of changes.
func (s *served) openStream(client *http.Client, token string) io.Reader {
	s.t.Helper()
	base, _, _ := strings.Cut(s.URL, "/#")
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, base+"/api/v1/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		s.t.Fatal(resp.Status)
	}
	return resp.Body
}

// checkFiles checks the files of a server: only the user can read them.
func (s *served) checkFiles(dir, token string) {
	s.t.Helper()
	running := filepath.Join(dir, "run", "clew", fmt.Sprintf("serve-%d.json", os.Getpid()))
	audit := filepath.Join(dir, "state", "clew", "audit.log")
	for path, word := range map[string]string{running: token, audit: "/api/v1/rotate"} {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), word) {
			s.t.Errorf("%s: %v: %s has no %q", path, err, data, word)
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			s.t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
	if data, err := os.ReadFile(audit); err == nil && strings.Contains(string(data), token) {
		s.t.Errorf("the audit log has the token: %s", data)
	}
}

// Ctrl-C ends the server while a page has a stream.
func TestServeEndsStreams(t *testing.T) { // not parallel: it sets variables
	serveHome(t)
	s := serve(t, "--port", "0")
	client := &http.Client{}
	defer client.CloseIdleConnections()
	stream := s.openStream(client, s.login(client, s.Code))
	s.end()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream does not end in order: %v", err)
	}
}

// The demo shows its sessions, and nothing of the user.
func TestDemoWeb(t *testing.T) { // not parallel: it sets variables
	dir := serveHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	s, code := &served{t: t}, make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"demo", "--web", "--dir", filepath.Join(dir, "demo")}, Streams{Out: w, Err: &s.errs})
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() && s.URL == "" {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http://") {
			s.URL = line
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	_, link, _ := strings.Cut(s.URL, "#")
	status, body := s.request(client, "GET", "/api/v1/sessions?tab=recent&n=50", s.login(client, link), "")
	var list struct{ Counts struct{ Recent int } }
	if err := json.Unmarshal([]byte(body), &list); status != http.StatusOK || err != nil || list.Counts.Recent != 1+len(demo.Pasts()) {
		t.Errorf("%d %s, %v", status, body, err)
	}
	cancel()
	if code := <-code; code != clikit.ExitDone {
		t.Errorf("exit code %d: %s", code, s.errs.String())
	}
}

// The audit log is bounded: one old file is kept.
func TestAuditLogIsBounded(t *testing.T) { // not parallel: it sets variables
	dir := serveHome(t)
	log := &auditLog{screen: io.Discard}
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 3 * maxAudit / len(line) {
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "state", "clew"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > maxAudit+int64(len(line)) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}
}

// The page that --open opens is a file, since command lines are public.
func TestServeOpens(t *testing.T) { // not parallel: it sets variables
	if runtime.GOOS != "linux" {
		t.Skip("the program that opens pages has another name")
	}
	dir := serveHome(t)
	page := filepath.Join(dir, "page")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", page).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shelltest.Write(t, filepath.Join(makeDir(t, filepath.Join(dir, "bin")), "xdg-open"), `{ cat "$1"; echo; echo "$1"; } >'`+page+`'`)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s := serve(t, "--port", "0", "--open")
	data, err := os.ReadFile(page) // it waits for the program
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(data))
	base, _, _ := strings.Cut(s.URL, "#")
	_, code, ok := strings.Cut(text, "url="+base+"open#")
	code, _, _ = strings.Cut(code, `"`)
	if !ok || strings.Contains(text[strings.LastIndexByte(text, '\n'):], code) {
		t.Fatalf("the page is %q", text)
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	s.login(client, code)
}
