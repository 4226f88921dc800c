package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/cmd/clew/internal/web"
	"github.com/clewdev/clew/sessions"
)

// serverOrigin names the variable that makes a process of this test a server, with the origin of its
// pages.
const serverOrigin = "BROWSERTEST_ORIGIN"

// serveProcess is a process with a web viewer that drives agents in memory. They die with it, as real
// ones do. It writes where it listens, and a code for each line that it reads.
func serveProcess(origin string) error {
	home := os.Getenv("HOME")
	sim := new(drivetest.Agent)
	sim.Record(filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "projects"), home, time.Now)
	agents := drive.New(drive.Options{
		Connect: sim.Connect, Roots: []string{home}, Keep: filepath.Join(home, "prompts"),
		Running: func(context.Context) ([]sessions.RunningSession, error) { return nil, nil },
	})
	if err := agents.Restore(); err != nil {
		return err
	}
	server, err := web.New(web.Options{Source: view.New(view.Options{Dir: home}), Drive: agents, Version: "test", Origins: []string{origin}})
	if err != nil {
		return err
	}
	listening := httptest.NewServer(server.Handler())
	fmt.Println(listening.URL)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(server.NewCode())
	}
	return nil // the test has ended
}

// A mortalSite is a web viewer whose server can be killed, and whose connections can be cut. Its pages
// reach it at one address.
type mortalSite struct {
	*testing.T
	*httptest.Server
	home string

	process *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader

	mu      sync.Mutex
	backend *httputil.ReverseProxy
	down    bool                       // nothing gets through
	refuses string                     // the end of the paths of requests that don't get through
	loses   string                     // the end of the path of the next request that is lost
	after   bool                       // it is lost after the server has answered it
	lost    int                        // how many were lost
	open    map[context.Context]func() // ends the requests that are open
}

func newMortalSite(t *testing.T) *mortalSite {
	t.Helper()
	s := &mortalSite{T: t, home: t.TempDir(), open: map[context.Context]func(){}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.pass))
	t.Cleanup(func() {
		s.kill()
		s.CloseClientConnections()
		s.Close()
	})
	s.start()
	return s
}

// start starts the server.
func (s *mortalSite) start() {
	s.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it is killed
	cmd.Env = append(os.Environ(), serverOrigin+"="+s.URL, "HOME="+s.home, "CLAUDE_CONFIG_DIR="+s.home+"/.claude", "XDG_CACHE_HOME="+s.home+"/cache")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.process, s.stdin, s.stdout = cmd, stdin, bufio.NewReader(stdout)
	target, err := url.Parse(s.line())
	if err != nil {
		s.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	s.down = false
}

// line reads a line of the server.
func (s *mortalSite) line() string {
	s.Helper()
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// code returns a code that logs a browser in.
func (s *mortalSite) code() string {
	s.Helper()
	if _, err := io.WriteString(s.stdin, "\n"); err != nil {
		s.Fatal(err)
	}
	return s.line()
}

// kill kills the server, as SIGKILL does.
func (s *mortalSite) kill() {
	s.setDown(true)
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()         // it was killed
}

// setDown cuts all connections and lets none through, or lets them through again.
func (s *mortalSite) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	if down {
		for _, end := range s.open {
			end()
		}
	}
}

// refuse lets no requests through whose path has an end; "" lets all through again.
func (s *mortalSite) refuse(end string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = end
}

// lose loses the next request whose path has an end: before the server gets it, or its answer. From
// then on nothing gets through.
func (s *mortalSite) lose(end string, after bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loses, s.after, s.lost = end, after, 0
}

// waitLost waits until that request was lost.
func (s *mortalSite) waitLost(p *tab) {
	s.Helper()
	p.wait("a request is lost", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.lost > 0
	})
}

// pass passes a request to the server, or loses it.
func (s *mortalSite) pass(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	s.mu.Lock()
	loses := s.loses != "" && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, s.loses)
	before := s.down || loses && !s.after || s.refuses != "" && strings.HasSuffix(r.URL.Path, s.refuses)
	if loses {
		s.loses, s.down = "", true
	}
	if loses && !s.after {
		s.lost++
	}
	backend := s.backend
	s.open[ctx] = end
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, ctx)
	}()
	if before {
		panic(http.ErrAbortHandler)
	}
	if loses {
		backend.ServeHTTP(httptest.NewRecorder(), r)
		s.mu.Lock()
		s.lost++
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	backend.ServeHTTP(w, r.WithContext(ctx))
}

// said counts the entries with a text in the transcripts: of the user, which are the prompts that agents
// have got, or of the assistant.
func (s *mortalSite) said(kind, text string) int {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var entry struct {
				Type    string
				Message struct{ Content json.RawMessage }
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Type == kind && strings.Contains(string(entry.Message.Content), text) {
				n++ // a line that is being written is no entry yet
			}
		}
	}
	return n
}
