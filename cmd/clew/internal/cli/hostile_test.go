package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
)

const hostileID = "11111111-2222-4333-8444-555555555555"

// hostileHome makes a home of an agent with the hostile session in it, and returns the path of its
// transcript.
func hostileHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	t.Setenv("COLUMNS", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	project := filepath.Join(dir, "projects", "-home-dev")
	subagents := filepath.Join(project, hostileID, "subagents")
	if err := os.MkdirAll(subagents, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(project, hostileID+".jsonl")
	copyHostile(t, "transcript.jsonl", path)
	copyHostile(t, "agent.jsonl", filepath.Join(subagents, "agent-abc123.jsonl"))
	copyHostile(t, "agent.meta.json", filepath.Join(subagents, "agent-abc123.meta.json"))
	return path
}

func copyHostile(t *testing.T, name, target string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "hostile", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// addHostileServer adds a call to a hostile tool of a hostile MCP server to a transcript.
func addHostileServer(t *testing.T, path string) {
	t.Helper()
	appendTo(t, path, `{"type":"assistant","parentUuid":"00000000-0000-4000-8000-000000000009","uuid":"00000000-0000-4000-8000-000000000097",`+
		`"sessionId":"`+hostileID+`","timestamp":"2026-11-15T11:00:00Z","message":{"id":"mcp","role":"assistant","model":"owned\u001b[2J",`+
		`"content":[{"type":"tool_use","id":"mcp","name":"mcp__owned\u001b[2J\u202e__\u009b1A\u0007","input":{"a":"owned\u001b[2J"}}]}}`+"\n")
}

// hostileLines are commands that read a hostile session or stream, with every verb, format and view.
var hostileLines = []string{
	"ls --all", "ls --all --json", "ls --all --text owned", "ls --all --figures", "ls --all --figures --json", "ls --all --sort title --reverse",
	"stats --by model", "stats --by model --plot", "stats --by model --csv", "stats --by model,session --json",
	"stats projects sessions", "stats sessions --csv", "stats agents", "stats blocks models", "stats tools", "stats tools --json", "stats tools --csv",
	"stats blocks models --json", "stats blocks models --plot", "stats mcp", "stats mcp --json", "stats mcp --csv",
	"show ID", "show ID --expand --thinking --branches", "show ID --diff", "show ID --agent abc", "show ID --agent abc --expand",
	"show ID --format json", "show ID --format ndjson", "show ID --format messages", "show ID --turn 1..9", "show ID --redact --no-pager",
	"show ID --context", "show FILE --context", "show testdata/hostile/stream.ndjson --context",
	"show FILE --expand", "show - --expand", "show FILE --format messages", "show - --format messages",
	"show testdata/hostile/stream.ndjson --expand", "show testdata/hostile/stream.ndjson --format messages",
	"show testdata/hostile/stream.ndjson --format json",
	"view ID --no-mouse", "view FILE", "view -",
	"search owned --limit 0", "search owned --limit 0 --sort newest", "search owned --session ID", "search owned --json --limit 0", "search owned --no-index", "search --regex (?s)owned.*",
	"show ID --format markdown --thinking --branches --full", "show ID --format html --thinking --branches --expand",
	"export ID -o - --format html", "export ID -o - --format markdown", "export ID -o - --format json",
	"export ID -o - --format html --redact --full --expand", "export FILE -o - --format md", "export - -o -",
	"export ID -o - --agent abc --turn 1 --thinking=false --branches=false",
	"inspect FILE", "inspect FILE --json", "inspect testdata/hostile/stream.ndjson", "inspect testdata/hostile/stream.ndjson --json",
}

// hostileExempt are the flags of those verbs that no line needs, and why.
var hostileExempt = map[string]string{
	"help": "it reads no session", "list-rules": "it reads no session", "price-table": "it reads no session", "prices": "a file of the user's",
	"output": "its shorthand is used", "force": "the file is the user's", "limit": "fewer of the same lines", "last": "fewer of the same lines",
	"project": "fewer of the same lines", "branch": "fewer of the same lines", "model": "fewer of the same lines", "tag": "fewer of the same lines",
	"ongoing": "fewer of the same lines", "since": "fewer of the same lines", "until": "fewer of the same lines", "active": "fewer of the same lines",
	"recent": "fewer of the same lines", "role": "fewer of the same lines", "tool": "fewer of the same lines", "timezone": "it has no text of a session",
	"export json": "it has the path of the user's file", "stats sort": "the same lines in another order", "alias": "a name of the user's",
	"fleet": "texts of jobs are in the tests of the viewer", "fleet-credentials": "a file of the user's",
	"reconcile": "its texts are those of the table", "watch": "it is the same screen again", "max-frame-bytes": "it has no text of a session",
}

// Each verb that reads sessions, and each of its flags, is in the table.
func TestHostileLinesAreComplete(t *testing.T) {
	t.Parallel()
	all := strings.Join(hostileLines, "\n") + "\n"
	for _, cmd := range newRoot(Streams{}).Commands() {
		verb := cmd.Name()
		if reason := verbs[verb].noHostile; reason != "" {
			continue
		}
		if !strings.Contains("\n"+all, "\n"+verb+" ") {
			t.Errorf("no line has the verb %s", verb)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			used := regexp.MustCompile(`(?m)^` + verb + ` .*--` + f.Name + `\b`).MatchString(all)
			if hostileExempt[f.Name]+hostileExempt[verb+" "+f.Name] == "" && !f.Hidden && !used {
				t.Errorf("no line has %s --%s", verb, f.Name)
			}
		})
	}
	for _, format := range showFormats {
		if format != "text" && !strings.Contains(all, "--format "+format) {
			t.Errorf("no line has --format %s", format)
		}
	}
}

// A hostile transcript reaches the terminal through no verb and no format.
func TestHostileTranscript(t *testing.T) {
	path := hostileHome(t)
	addHostileServer(t, path)
	for _, line := range hostileLines {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			stdin, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(strings.NewReplacer("ID", hostileID, "FILE", "\x00").Replace(line))
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "\x00", path)
			}
			code := execute(t.Context(), args, Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
			if code != clikit.ExitDone && !strings.HasPrefix(line, "inspect") {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
			if !strings.Contains(out.String(), "owned") && !strings.Contains(out.String(), "Title") && !strings.Contains(out.String(), "not JSON") {
				t.Errorf("the session is not shown:\n%s", out.String())
			}
			clitest.CheckHarmless(t, "stdout", out.String())
			clitest.CheckHarmless(t, "stderr", errs.String())
		})
	}
}

// A watcher is a writer that calls a function once it was given a text.
type watcher struct {
	all  bytes.Buffer
	text string
	seen func()
}

func (w *watcher) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if w.text != "" && strings.Contains(w.all.String(), w.text) {
		w.text = ""
		w.seen()
	}
	return n, err
}

func TestTailHostile(t *testing.T) {
	hostileHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out := &watcher{text: "你好", seen: cancel}
	var errs bytes.Buffer
	args := []string{"tail", hostileID, "--expand", "--thinking", "-n", "99"}
	code := execute(ctx, args, Streams{Out: out, Err: &errs})
	if code != clikit.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if out.text != "" {
		t.Errorf("the answer is not shown:\n%s", out.all.String())
	}
	clitest.CheckHarmless(t, "stdout", out.all.String())
	clitest.CheckHarmless(t, "stderr", errs.String())
}

// Appended entries are shown after the existing ones.
func TestTailFollows(t *testing.T) {
	path := hostileHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out := &watcher{text: "你好"}
	out.seen = func() {
		out.text, out.seen = "One more", cancel
		appendTo(t, path, `{"type":"user","parentUuid":"00000000-0000-4000-8000-000000000009",`+
			`"uuid":"00000000-0000-4000-8000-000000000099",`+
			`"sessionId":"`+hostileID+`","timestamp":"2026-11-15T11:00:00Z","message":{"role":"user","content":"One more"}}`+"\n")
	}
	args := []string{"tail", hostileID, "-n", "1"}
	if code := execute(ctx, args, Streams{Out: out, Err: io.Discard}); code != clikit.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(out.all.String(), "> One more") || !strings.Contains(out.all.String(), "#2 · ") || strings.Contains(out.all.String(), "#1 · ") {
		t.Errorf("it shows:\n%s", out.all.String())
	}
}

// New entries of a subagent are shown after its name. The earlier entries of a subagent that had
// ended are not shown.
func TestTailSubagent(t *testing.T) {
	path := hostileHome(t)
	agent := filepath.Join(filepath.Dir(path), hostileID, "subagents", "agent-abc123.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out := &watcher{text: "你好"}
	out.seen = func() {
		out.text, out.seen = "Deeper", cancel
		appendTo(t, agent, `{"type":"user","parentUuid":"00000000-0000-4000-8000-000000000011",`+
			`"uuid":"00000000-0000-4000-8000-000000000098",`+
			`"sessionId":"`+hostileID+`","agentId":"abc123","isSidechain":true,"timestamp":"2026-11-15T11:00:00Z",`+
			`"message":{"role":"user","content":"Deeper"}}`+"\n")
	}
	args := []string{"tail", hostileID, "-n", "1"}
	if code := execute(ctx, args, Streams{Out: out, Err: io.Discard}); code != clikit.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	_, added, _ := strings.Cut(out.all.String(), "你好")
	named := strings.Contains(added, "@ agent abc123, Explore")
	if !named || !strings.Contains(added, "#2 · ") || strings.Contains(added, "#1 · ") {
		t.Errorf("it adds:\n%s", added)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err != nil || closeErr != nil {
		t.Error(err, closeErr)
	}
}

// A hostile agent does not reach the terminal in any format: not with the model's text, tool calls,
// lines that are not frames, its result, nor its stderr before it dies.
func TestHostileRun(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "hostile", "stream.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	const evil = `\u001b]0;owned\u0007\u001b[2J\u009b1A\u202egnp.exe\u2066\u2028`
	endings := map[string]func(*clewtest.Scenario) *clewtest.Scenario{
		"success": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Send(`{"type":"result","subtype":"success","result":"owned ` + evil + `","session_id":"` + evil + `","uuid":"r"}`)
		},
		"failure": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Send(`{"type":"result","subtype":"success","is_error":true,"result":"owned ` + evil + `","session_id":"s","uuid":"r"}`)
		},
		"death": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Stderr("owned \x1b]0;owned\x07\x1b[2J\u202e\n").Exit(1)
		},
	}
	for ending, end := range endings {
		for _, format := range []string{"text", "json", "stream-json"} {
			t.Run(ending+" in "+format, func(t *testing.T) {
				s := new(clewtest.Scenario).
					Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
					Send(`{"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{}}}`).
					Expect(`{"type":"user","message":{"role":"user"}}`).
					Do(clewtest.Garbage(string(stream)))
				useAgent(t, end(s))
				var out, errs bytes.Buffer
				args := []string{"run", "--output-format", format, "--include-partial-messages", "Hi"}
				code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
				if failed := ending != "success"; failed != (code == clikit.ExitFailed) || !strings.Contains(out.String()+errs.String(), "owned") {
					t.Errorf("exit code %d: %s", code, errs.String())
				}
				clitest.CheckHarmless(t, "stdout", out.String())
				clitest.CheckHarmless(t, "stderr", errs.String())
			})
		}
	}
}
