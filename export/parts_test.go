package export_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

// written returns what a function writes.
func written(t *testing.T, write func(w *strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPartsAreEscaped(t *testing.T) {
	t.Parallel()
	const bad = `<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)> ![p](https://evil.example/p.png)`
	item := &transcript.DisplayItem{
		Type: transcript.ItemToolCall, ToolName: "Nameless", ToolID: "1", ToolInput: `{"a":"<b onclick=1>"}`,
		ToolResult: bad, HasResult: true, Injected: []string{bad},
	}
	parts := map[string]string{
		"chunk": written(t, func(w *strings.Builder) error {
			return export.WriteChunk(w, &transcript.Chunk{Type: transcript.UserChunk, Text: bad, Stderr: bad}, nil)
		}),
		"text": written(t, func(w *strings.Builder) error { return export.WriteText(w, bad, nil) }),
		"code": written(t, func(w *strings.Builder) error { return export.WriteCode(w, bad, "json", nil) }),
		"diff": written(t, func(w *strings.Builder) error {
			return export.WriteDiff(w, &transcript.FileDiff{Path: bad, Hunks: []tooluse.Hunk{{Lines: []string{"+" + bad}}}}, nil)
		}),
	}
	for _, part := range []export.Part{export.Body, export.Input, export.Result, export.Changes} {
		parts[string(part)] = written(t, func(w *strings.Builder) error { return export.WriteItem(w, item, part, nil) })
	}
	for name, html := range parts {
		for _, mark := range []string{"<script", "<img", "<b onclick", `href="javascript`, `src=`, " style="} {
			if strings.Contains(strings.ReplaceAll(html, "&lt;img src=x", ""), mark) {
				t.Errorf("%s has %q:\n%s", name, mark, html)
			}
		}
	}
}

func TestPartsAreCut(t *testing.T) {
	t.Parallel()
	item := &transcript.DisplayItem{
		Type: transcript.ItemToolCall, ToolName: "Nameless", ToolID: "1", HasResult: true,
		ToolResult: strings.Repeat("0123456789\n", 10_000),
	}
	short := written(t, func(w *strings.Builder) error {
		return export.WriteItem(w, item, export.Body, &export.View{More: "see Result"})
	})
	if len(short) > 20_000 || !strings.Contains(short, "more not shown; see Result") {
		t.Errorf("a long result has %d bytes: %s", len(short), short[max(len(short)-200, 0):])
	}
	full := written(t, func(w *strings.Builder) error {
		return export.WriteItem(w, item, export.Result, &export.View{Full: true})
	})
	if len(full) < len(item.ToolResult) || strings.Contains(full, "not shown") {
		t.Errorf("the full result has %d bytes", len(full))
	}
}

func TestUnknownPart(t *testing.T) {
	t.Parallel()
	err := export.WriteItem(new(strings.Builder), new(transcript.DisplayItem), "nonsense", nil)
	if err == nil || !strings.Contains(err.Error(), `unknown part "nonsense"`) {
		t.Errorf("the error is %v", err)
	}
}
