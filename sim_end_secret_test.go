package clew_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Secrets. The first two look like ones; the others are known by where they are.
const (
	keySecret    = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"
	bearerSecret = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	envSecret    = "correct-horse-battery"
	headerSecret = "staple-of-the-header"
)

// A logbook keeps all that is logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// secretive returns options with secrets, and what is logged with them.
func secretive(agent *clewtest.Agent) (*clew.Options, *logbook) {
	log := new(logbook)
	opts := asProcess(agent)
	opts.Env = append(opts.Env, "ANTHROPIC_API_KEY="+keySecret, "PASSPHRASE="+envSecret)
	opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts.CloseTimeout = quickly
	return opts, log
}

// wantHidden checks that no secret is in what people may see.
func wantHidden(t *testing.T, texts ...any) {
	t.Helper()
	for _, value := range texts {
		for _, text := range []string{fmt.Sprint(value), fmt.Sprintf("%+v", value), fmt.Sprintf("%#v", value)} {
			for _, secret := range []string{keySecret, bearerSecret, envSecret, headerSecret} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is in %s", secret, text)
				}
			}
		}
	}
}

// secretStderr is an agent's standard error that tells too much.
const secretStderr = "401 invalid key " + keySecret + "\n" +
	"Authorization: Bearer " + bearerSecret + "\n" +
	"ANTHROPIC_API_KEY=" + keySecret + "\n"

// An agent that does not come up may say why, with the key in it.
func TestSecretsOfAFailedStart(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]*clewtest.Scenario{
		"it dies":     new(clewtest.Scenario).Stderr(secretStderr).Exit(1),
		"it hangs":    new(clewtest.Scenario).Stderr(secretStderr).Do(clewtest.Hang()),
		"it refuses":  answering(`"subtype":"error","error":"not you"`).Stderr(secretStderr),
		"it is quiet": new(clewtest.Scenario).Stderr(secretStderr).Exit(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, log := secretive(clewtest.NewAgent(t, scenario))
			ctx, cancel := context.WithTimeout(t.Context(), longest)
			defer cancel()
			if name == "it hangs" {
				opts.InitializeTimeout = quickly
			}
			_, err := clew.Connect(ctx, opts)
			if err == nil {
				t.Fatal("the agent came up")
			}
			wantHidden(t, err, log.String(), opts.CommandLine())
		})
	}
}

// An agent may die, refuse and be silent with secrets all around.
func TestSecretsOfASession(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, greeted().
		Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"mcp_set_servers"}}`).
		Send(`{"type":"control_response","response":{"subtype":"error","request_id":"1","error":"no"}}`).
		Expect(aPrompt).Send(aWord).Stderr(secretStderr).Exit(1))
	opts, log := secretive(agent)
	s := connectTo(t, opts)
	_, refusal := s.SetMCPServers(t.Context(), map[string]clew.MCPServer{"calc": &clew.MCPHTTPServer{
		URL: "https://example.com", Headers: map[string]string{"X-Pass": headerSecret},
	}})
	_, death := hearOut(t, s.Turn(t.Context(), "Hi"))
	exit := wantExit(t, death)
	if !strings.Contains(exit.Stderr, "401 invalid key sk-ant-***") {
		t.Errorf("stderr %q", exit.Stderr)
	}
	wantHidden(t, refusal, death, exit.Stderr, s.Err(), s.Close(), log.String())
}

// CommandLine is for people.
func TestSecretsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	opts, log := secretive(clewtest.NewAgent(t, nil))
	opts.MCPServers = map[string]clew.MCPServer{
		"web":   &clew.MCPHTTPServer{URL: "https://example.com", Headers: map[string]string{"X-Pass": headerSecret}},
		"local": &clew.MCPStdioServer{Command: "calc", Env: map[string]string{"PASSPHRASE": envSecret}},
	}
	opts.Settings = `{"env":{"PASSPHRASE":"` + envSecret + `"},"apiKeyHelper":"echo ` + keySecret + `"}`
	opts.ExtraArgs = []string{"--newer-token=" + envSecret, "--newer=" + bearerSecret}
	opts.Model = "opus\x00" // so that the options are refused, too
	_, err := clew.Connect(t.Context(), opts)
	wantHidden(t, err, opts.CommandLine(), log.String())
}
