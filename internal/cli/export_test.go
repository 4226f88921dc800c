package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const exportID = "99999999-2222-4333-8444-555555555555"

// exportHome makes a session with a picture and a spilled result, and returns the
// path of its transcript.
func exportHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	project := filepath.Join(dir, "projects", "-home-dev")
	spill := filepath.Join(project, exportID, "tool-results", "t2.txt")
	if err := os.MkdirAll(filepath.Dir(spill), 0o700); err != nil {
		t.Fatal(err)
	}
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\npicture"))
	entry := func(n, parent, kind, content string) string {
		return `{"type":"` + kind + `","uuid":"00000000-0000-4000-8000-00000000000` + n + `","parentUuid":` + parent +
			`,"sessionId":"` + exportID + `","timestamp":"2026-11-15T10:00:0` + n + `Z","message":{"role":"` + kind + `","id":"m` + n +
			`","model":"claude-opus-5-5","content":` + content + `}}` + "\n"
	}
	after := func(n string) string { return `"00000000-0000-4000-8000-00000000000` + n + `"` }
	text := entry("1", "null", "user", `"Look"`) +
		entry("2", after("1"), "assistant", `[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.png"}}]`) +
		entry("3", after("2"), "user", `[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":`+
			`{"type":"base64","media_type":"image/png","data":"`+png+`"}}]}]`) +
		entry("4", after("3"), "assistant", `[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]`) +
		entry("5", after("4"), "user", `[{"type":"tool_result","tool_use_id":"t2","content":"<persisted-output>\nsaved to: `+
			filepath.ToSlash(spill)+`\n</persisted-output>"}]`)
	path := filepath.Join(project, exportID+".jsonl")
	for name, data := range map[string]string{path: text, spill: "the whole output of ann@example.com"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func exportPage(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), append([]string{"export", "-o", "-"}, args...), Streams{Out: &out, Err: &errs}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return out.String()
}

// Pictures and long results are read from the session's files, by its ID and by
// the path of its transcript, and redacted like the rest.
func TestExportFiles(t *testing.T) {
	path := exportHome(t)
	plain := filepath.Join(t.TempDir(), "other.jsonl")
	copyExport(t, path, plain)
	for _, name := range []string{exportID, path, plain} {
		page := exportPage(t, name)
		if !strings.Contains(page, `src="data:image/png;base64,`) {
			t.Errorf("%s: no picture", name)
		}
		if strings.Contains(page, "the whole output") {
			t.Errorf("%s: the long result is there", name)
		}
	}
	if page := exportPage(t, exportID, "--full"); !strings.Contains(page, "the whole output of ann@example.com") {
		t.Error("the long result is not there")
	}
	if text := exportPage(t, exportID, "--format", "json"); !strings.Contains(text, "the whole output of ann@example.com") {
		t.Error("JSON lacks the long result")
	}
	page := exportPage(t, exportID, "--full", "--redact")
	if !strings.Contains(page, "the whole output of [redacted:email]") || strings.Contains(page, "data:image") {
		t.Error("the long result or the picture is not redacted")
	}
}

func copyExport(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An interrupted export leaves nothing behind.
func TestExportInterrupted(t *testing.T) {
	exportHome(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "page.html")
	o := &exportOptions{output: target}
	_, err := o.writeFile(target, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return context.Canceled
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
