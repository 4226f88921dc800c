package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
)

// mcpInput returns the lines of a client that calls one tool after the other, and then ends.
func mcpInput(calls ...string) string {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i := 0; i+1 < len(calls); i += 2 {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i+1, calls[i], calls[i+1])
	}
	return b.String()
}

// An mcpClient reads the server's output, and ends its input after a number of answers.
type mcpClient struct {
	bytes.Buffer
	left int
	end  func()
}

func (c *mcpClient) Write(p []byte) (int, error) {
	c.left -= bytes.Count(p, []byte("\n"))
	if c.left == 0 {
		c.end()
	}
	return c.Buffer.Write(p)
}

// A heldInput has its text, and then waits for the end.
type heldInput struct {
	text *strings.Reader
	end  <-chan struct{}
}

func (h *heldInput) Read(p []byte) (int, error) {
	if h.text.Len() == 0 {
		<-h.end
	}
	return h.text.Read(p)
}

// callMCP runs the server with calls, and returns the texts of their results.
func callMCP(t *testing.T, args []string, calls ...string) []string {
	t.Helper()
	end, stop := context.WithCancel(t.Context())
	var errs bytes.Buffer
	out := &mcpClient{left: 1 + len(calls)/2, end: stop}
	in := &heldInput{strings.NewReader(mcpInput(calls...)), end.Done()}
	if code := execute(t.Context(), append([]string{"mcp"}, args...), Streams{In: in, Out: out, Err: &errs}); code != clikit.ExitDone || errs.Len() > 0 {
		t.Fatalf("exit code %d, stderr %s", code, errs.String())
	}
	texts := make([]string, len(calls)/2)
	for line := range strings.Lines(out.String()) {
		var message struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if len(message.Result.Content) > 0 {
			texts[(message.ID-1)/2] = message.Result.Content[0].Text
		}
	}
	return texts
}

// With --all, requests look up all projects unless they name one.
func TestMCPAllProjects(t *testing.T) {
	hostileHome(t)
	texts := callMCP(t, []string{"--all"}, "sessions", `{}`, "sessions", `{"project":"*"}`, "sessions", `{"project":"."}`)
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Errorf("no project: %s\nall: %s\nthis one: %s", texts[0], texts[1], texts[2])
	}
	if own := callMCP(t, nil, "sessions", `{}`); own[0] != texts[2] {
		t.Errorf("without --all: %s\nthis project: %s", own[0], texts[2])
	}
}

// Hostile texts of sessions are harmless in all answers, also where the user asked for everything.
func TestMCPHostile(t *testing.T) {
	hostileHome(t)
	for _, args := range [][]string{{"--all"}, {"--all", "--results"}} {
		calls := []string{"sessions", `{"project":"*"}`}
		for _, query := range []string{"the", "evil", "script", "fix the build", "a b c d e", "hello"} {
			calls = append(calls, "search", fmt.Sprintf(`{"query":%q,"project":"*"}`, query), "search", fmt.Sprintf(`{"query":%q,"project":"*","in":"calls"}`, query))
			if len(args) > 1 {
				calls = append(calls, "search", fmt.Sprintf(`{"query":%q,"project":"*","in":"results"}`, query))
			}
		}
		texts := callMCP(t, args, calls...)
		found := strings.Join(texts, "")
		var reads []string
		for line := range strings.Lines(found) {
			if ref, _, ok := strings.Cut(line, " "); ok && len(ref) >= 8 && strings.Trim(ref[:8], "0123456789abcdef") == "" {
				reads = append(reads, "read", fmt.Sprintf(`{"ref":%q,"before":5}`, ref))
			}
		}
		if len(reads) == 0 {
			t.Fatalf("nothing can be read:\n%s", found)
		}
		for _, text := range append(texts, callMCP(t, args, reads...)...) {
			clitest.CheckHarmless(t, strings.Join(args, " "), text)
			for line := range strings.Lines(text) {
				if strings.Count(strings.ReplaceAll(line, `\\"`, ""), `"`)%2 != 0 && !strings.Contains(line, `\\`) {
					t.Errorf("a line ends in the middle of a text: %q", line)
				}
			}
		}
	}
}

// The model reads the descriptions of the tools in every session.
func TestMCPDescriptionsAreShort(t *testing.T) { // not parallel: it sets variables
	hostileHome(t)
	out := listMCPTools(t, "--all", "--results")
	const bytesPerToken = 3.5
	if n := float64(len(out)) / bytesPerToken; n > 600 {
		t.Errorf("the tools have about %.0f tokens: %s", n, out)
	}
	for flag, has := range map[string]string{"--all": `"project"`, "--results": `"results"`} {
		if !strings.Contains(out, has) {
			t.Errorf("with %s there is no %s", flag, has)
		}
		if plain := listMCPTools(t); strings.Contains(plain, has) {
			t.Errorf("without %s there is %s: %s", flag, has, plain)
		}
	}
}

// listMCPTools returns the model's view of the tools: names, descriptions and schemas.
func listMCPTools(t *testing.T, args ...string) string {
	t.Helper()
	end, stop := context.WithCancel(t.Context())
	out := &mcpClient{left: 2, end: stop}
	in := &heldInput{strings.NewReader(mcpInput() + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"), end.Done()}
	if code := execute(t.Context(), append([]string{"mcp"}, args...), Streams{In: in, Out: out, Err: new(bytes.Buffer)}); code != clikit.ExitDone {
		t.Fatalf("exit code %d", code)
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				InputSchema json.RawMessage `json:"inputSchema"`
			}
		}
	}
	_, line, _ := strings.Cut(out.String(), "\n")
	if err := json.Unmarshal([]byte(line), &list); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list.Result.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
