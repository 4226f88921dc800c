package program_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
)

// A webPage is a page of "clew serve", without a browser.
type webPage struct {
	t      *testing.T
	origin string
	token  string
}

// openPage starts a server that drives, and logs a page in, which gets the events.
func (s *stage) openPage(t *testing.T) *webPage {
	t.Helper()
	cmd := s.command(t, "serve", "--drive", "--root", s.dir, "--json", "--port", "0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at := decoded[struct{ URL, Code string }](t, line)
	u, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &webPage{t: t, origin: "http://" + u.Host}
	p.token = call[struct{ Token string }](p, "login", map[string]any{"code": at.Code}).Token
	events, err := http.DefaultClient.Do(p.request("events", nil))
	if err != nil || events.StatusCode != http.StatusOK {
		t.Fatal(events, err)
	}
	t.Cleanup(func() { _ = events.Body.Close() }) // the server may have closed it
	return p
}

// request returns a request, with a body unless that is nil.
func (p *webPage) request(path string, body any) *http.Request {
	p.t.Helper()
	method, content := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		method, content = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+"/api/v1/"+path, content)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// call sends a request, which has to succeed.
func call[T any](p *webPage, path string, body any) T {
	p.t.Helper()
	resp, err := http.DefaultClient.Do(p.request(path, body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s %s %v", path, resp.Status, text, err)
	}
	return decoded[T](p.t, string(text))
}

// A question as pages get it.
type pageQuestion struct{ Agent, Question, Digest, HTML string }

// asked waits for a question.
func (p *webPage) asked() pageQuestion {
	p.t.Helper()
	var q pageQuestion
	scene.Eventually(p.t, "a question", func() bool {
		list := call[struct {
			Agents []struct {
				Elsewhere bool
				Questions []pageQuestion
			}
		}](p, "driven", nil)
		for _, a := range list.Agents {
			if a.Elsewhere && len(a.Questions) > 0 {
				q = a.Questions[0]
				return true
			}
		}
		return false
	})
	return q
}

// A page answers a question from an agent that the server did not start.
func TestRealHookPermission(t *testing.T) {
	t.Parallel()
	for kind, runs := range map[string]bool{"once": true, "deny": false} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			marker := filepath.Join(s.dir, "marker")
			s.model.On("Begin").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": marker, "content": "x\n"})).Once()
			s.model.Reply("The end.")
			page := s.openPage(t)
			if _, stderr, code := s.run(t, "hook", "permission", "--install", "--yes"); code != 0 {
				t.Fatalf("%d %s", code, stderr)
			}
			agent := exec.CommandContext(t.Context(), s.agent, "-p", "Begin", "--permission-mode", "default")
			agent.Dir, agent.Env = s.dir, append(s.model.Env(), programVariable+"=1")
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			q := page.asked()
			call[struct{}](page, "agents/"+q.Agent+"/answers", map[string]any{
				"id": "answer-one", "question": q.Question, "digest": q.Digest, "answer": map[string]any{"kind": kind},
			})
			if err := agent.Wait(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(marker); (err == nil) != runs {
				t.Errorf("the file: %v", err)
			}
		})
	}
}
