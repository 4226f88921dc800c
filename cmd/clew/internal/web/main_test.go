package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/timelimit"
)

// home is the home directory of the tests. Its sessions are the fixtures.
var home string

// TestMain gives all tests a temporary home directory with sessions.
func TestMain(m *testing.M) {
	timelimit.Lift()
	code := 1
	defer func() { os.Exit(code) }()
	var err error
	if home, err = os.MkdirTemp("", "clew-web-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer func() { _ = os.RemoveAll(home) }() // it is temporary
	for name, value := range map[string]string{
		"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"),
		"XDG_CACHE_HOME": filepath.Join(home, "cache"), "LOCALAPPDATA": filepath.Join(home, "cache"),
		"XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_RUNTIME_DIR": filepath.Join(home, "run"),
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
	if err := writeFixtures(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	code = m.Run()
}

// testNow is the time of the tests.
var testNow = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// fixtures are the sessions of the tests, the newest first.
var fixtures = []struct {
	name string
	from string // a file, or "" for a generated one
	make func() string
}{
	{"rewound", "../../../../internal/render/testdata/rewound/transcript.jsonl", nil},
	{"allowed", "../../../../transcript/testdata/recorded/tool_allowed_edit/transcript.jsonl", nil},
	{"subagent", "../../../../transcript/testdata/recorded/subagent_background/transcript.jsonl", nil},
	{"compact", "../../../../transcript/testdata/recorded/compact/transcript.jsonl", nil},
	{"error", "../../../../transcript/testdata/recorded/error_400/transcript.jsonl", nil},
	{"thinking", "../../../../transcript/testdata/recorded/thinking/transcript.jsonl", nil},
	{"hostile", "", hostileTranscript},
	{"pictures", "", picturesTranscript},
	{"torn", "", tornTranscript},
	{"long", "", longTranscript},
	{"empty", "", func() string { return `{"type":"file-history-snapshot","messageId":"m"}` + "\n" }},
}

// fixtureID returns the ID of a fixture.
func fixtureID(name string) string {
	for i := range fixtures {
		if fixtures[i].name == name {
			return fmt.Sprintf("f1000000-0000-4000-8000-%012d", i)
		}
	}
	panic("no fixture " + name)
}

// project returns the directory of the sessions of a project.
func project(name string) string { return filepath.Join(home, ".claude", "projects", name) }

// writeSession writes the transcript of a session, as of a time.
func writeSession(project, id, text string, at time.Time) error {
	path := filepath.Join(project, id+".jsonl")
	if err := os.MkdirAll(project, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, at, at)
}

func writeFixtures() error {
	dir := project("-home-dev-shop")
	for i := range fixtures {
		f := &fixtures[i]
		text := ""
		if f.make != nil {
			text = f.make()
		} else {
			data, err := os.ReadFile(f.from)
			if err != nil {
				return err
			}
			text = string(data)
		}
		if err := writeSession(dir, fixtureID(f.name), text, testNow.Add(-time.Duration(i)*9*time.Hour)); err != nil {
			return err
		}
		if agents := filepath.Join(filepath.Dir(f.from), "subagents"); f.from != "" {
			if _, err := os.Stat(agents); err == nil {
				if err := os.CopyFS(filepath.Join(dir, fixtureID(f.name), "subagents"), os.DirFS(agents)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// An entryWriter writes entries of a transcript.
type entryWriter struct {
	strings.Builder
	n   int
	cwd string
}

// add writes an entry that follows the last one.
func (w *entryWriter) add(kind string, message any, more map[string]any) {
	w.n++
	entry := map[string]any{
		"type": kind, "uuid": fmt.Sprintf("u%d", w.n), "parentUuid": nil, "sessionId": "s", "version": "2.1.325",
		"timestamp": testNow.Add(time.Duration(w.n-1000) * time.Second).Format(time.RFC3339), "cwd": w.cwd, "message": message,
	}
	if w.n > 1 {
		entry["parentUuid"] = fmt.Sprintf("u%d", w.n-1)
	}
	for name, value := range more {
		entry[name] = value
	}
	line, err := json.Marshal(entry)
	if err != nil {
		panic(err)
	}
	w.Write(line)
	w.WriteByte('\n')
}

func (w *entryWriter) prompt(content any) {
	w.add("user", map[string]any{"role": "user", "content": content}, nil)
}

func (w *entryWriter) answer(stop string, blocks ...map[string]any) {
	w.add("assistant", map[string]any{
		"id": fmt.Sprintf("m%d", w.n), "role": "assistant", "model": "claude-opus-5-5", "content": blocks, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 20},
	}, nil)
}

func (w *entryWriter) call(id, tool string, input any) {
	w.answer("tool_use", map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input})
}

func (w *entryWriter) result(id string, content any, failed bool) {
	w.prompt([]map[string]any{{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}})
}

func text(words string) map[string]any { return map[string]any{"type": "text", "text": words} }

// hostile is a text that tries to become markup.
const hostile = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"alert(1)' autofocus='" +
	"\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\u009b1A\u202egnp.exe\u2066\u200b\u2028\x00\b\r<!-- --> ]]> &lt;b&gt;\n\n" +
	"<div onclick=alert(1)>\n<style>*{display:none}</style>\n</div>\n\n[a](javascript:alert(1)) [b](JaVaScRiPt&#58;alert(1)) " +
	"[c](data:text/html,<script>alert(1)</script>) ![d](https://evil.example/x.png) [g](https://fine.example/) " +
	"<javascript:alert(1)> [f]\n\n[f]: vbscript:msgbox(1) \"t\\\" onx=\"\n\n```html\" onload=\"x\n</code><script>alert(1)</script>\n```\n"

// hostileTranscript has hostile texts wherever a transcript has texts.
func hostileTranscript() string {
	w := &entryWriter{cwd: "/home/<script>alert(1)</script>"}
	w.prompt(hostile)
	w.answer("end_turn", map[string]any{"type": "thinking", "thinking": hostile}, text(hostile))
	for i, tool := range []string{"Bash", "Edit", "Write", "Read", "TodoWrite", "mcp__<b>__x", hostile} {
		id := fmt.Sprintf("t%d\"><script>", i)
		w.call(id, tool, map[string]any{
			"command": hostile, "file_path": "/tmp/\"><script>.html", "content": hostile, "old_string": "a", "new_string": hostile,
			"description": hostile, "todos": []any{map[string]any{"content": hostile, "status": hostile}},
		})
		w.result(id, hostile, i%2 == 1)
	}
	w.add("system", nil, map[string]any{"subtype": "local_command", "content": hostile, "gitBranch": hostile})
	w.add("custom-title", nil, map[string]any{"customTitle": hostile})
	w.add("tag", nil, map[string]any{"tag": hostile})
	return w.String() + `{"<script>alert(1)</script>` + "\n"
}

// pixels is the start of a PNG image, in base64.
const pixels = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// picturesTranscript has images in a prompt and in results. One of them does not match its declared
// type.
func picturesTranscript() string {
	image := func(kind, data string) map[string]any {
		return map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": kind, "data": data}}
	}
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt([]map[string]any{text("What is on it?"), image("image/png", pixels)})
	w.call("t1", "Read", map[string]any{"file_path": "/home/dev/shop/a.png"})
	w.result("t1", []map[string]any{image("image/png", pixels)}, false)
	w.call("t2", "Read", map[string]any{"file_path": "/home/dev/shop/a.svg"})
	w.result("t2", []map[string]any{image("image/png", "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+")}, false)
	w.answer("end_turn", text("A dot."))
	return w.String()
}

// tornTranscript ends in the middle of a line, and has lines that are not entries.
func tornTranscript() string {
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt("Go on")
	w.WriteString("not an entry\n[1,2]\n")
	w.call("t1", "Bash", map[string]any{"command": "sleep 100"})
	return w.String() + `{"type":"assistant","uuid":"u9","mess`
}

// longTranscript has a prompt and a result that are too long to show at once.
func longTranscript() string {
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt(strings.Repeat("a long prompt ", 20_000))
	w.call("t1", "Bash", map[string]any{"command": "seq 200000"})
	w.result("t1", strings.Repeat("one line of a long result\n", 40_000), false)
	w.answer("end_turn", text(strings.Repeat("word ", 30_000)))
	return w.String()
}
