package features_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A gate stands before an MCP server over HTTP and notes the credentials of its callers.
type gate struct {
	server http.Handler

	mu      sync.Mutex
	callers []string
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.callers = append(g.callers, r.Header.Get("Authorization"))
	g.mu.Unlock()
	g.server.ServeHTTP(w, r)
}

// seen returns the callers, each once if they take no turns.
func (g *gate) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Compact(slices.Clone(g.callers))
}

// Servers of every kind are there in the first turn, and one that can't be used is told of.
func TestRealOptionsMCPServers(t *testing.T) {
	t.Parallel()
	greeter, err := url.Parse(serveGreeter(t))
	if err != nil {
		t.Fatal(err)
	}
	remote := &gate{server: httputil.NewSingleHostReverseProxy(greeter)}
	server := httptest.NewServer(remote)
	defer server.Close()
	var log strings.Builder
	r := runWith(t, clewtest.NewModel(t).Reply("Done."), &clew.Options{
		StrictMCPConfig: true,
		Logger:          slog.New(slog.NewTextHandler(&log, nil)),
		MCPServers: map[string]clew.MCPServer{
			"remote": &clew.MCPHTTPServer{URL: server.URL, Headers: map[string]string{"Authorization": "Bearer hidden"}},
			"inside": &clew.MCPInProcessServer{Handler: adder{}, Timeout: time.Minute},
			"broken": &clew.MCPStdioServer{Command: filepath.Join(t.TempDir(), "missing")},
		},
	})
	for _, name := range []string{"mcp__remote__greet", "mcp__inside__add"} {
		if !slices.Contains(r.init.Tools, name) {
			t.Errorf("no %s in %q", name, r.init.Tools)
		}
	}
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "server=broken") {
		t.Errorf("log %s", log.String())
	}
	if diff := cmp.Diff([]string{"Bearer hidden"}, remote.seen()); diff != "" {
		t.Errorf("callers (-want +got):\n%s", diff)
	}
	if strings.Contains(r.record, "hidden") || len(r.request(t, "mcp_set_servers")) == 0 {
		t.Errorf("recorded:\n%s", r.record)
	}
}

// The agent takes a list of rules apart as it was put together.
func TestRealOptionsRules(t *testing.T) {
	t.Parallel()
	rules := []string{"Bash(git log:*,x y)", "Read", "--evil", "mcp__a__*", "Edit(docs/ü.md)"}
	s := connect(t, clewtest.NewModel(t), &clew.Options{AllowedTools: rules, Skills: []string{"my skill"}})
	var got []string
	for _, rule := range must(s.PermissionRules(t.Context()))(t).Rules {
		if rule.Source == "cliArg" {
			got = append(got, rule.Rule)
		}
	}
	if diff := cmp.Diff(append(rules, "Skill(my skill)"), got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
