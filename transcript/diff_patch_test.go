package transcript

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// A changeCall is a call that changed a file, as the agent reports it.
type changeCall struct {
	tool          string
	input, result wire.JSON
}

// items returns the call as it is after reading, with the whole result and with its patch alone.
func (c *changeCall) items() map[string]*DisplayItem {
	items := map[string]*DisplayItem{}
	for name, limit := range map[string]int{"whole result": -1, "patch alone": 0} {
		var m AIMsg
		m.readResult(&Entry{ToolUseResult: json.RawMessage(c.result)}, limit)
		items[name] = &DisplayItem{
			Type: ItemToolCall, ToolName: c.tool, HasResult: true, ToolInput: c.input, Structured: m.ToolUseResult, Patch: m.Patch,
		}
		if strings.Contains(string(c.result), `"type":"update"`) {
			items[name].ToolResult = "The file /f has been updated."
		}
	}
	return items
}

// check checks that the diff of the call turns the file before into the file after. Without a patch,
// the diff of a long result is relative.
func (c *changeCall) check(t *testing.T, before, after string) {
	t.Helper()
	for name, item := range c.items() {
		d, ok := item.Diff()
		switch {
		case !ok && before == after, item.Structured == "" && item.Patch == "" && (!ok || d.Relative):
			continue
		case !ok:
			t.Errorf("%s: no diff: %s", name, c.result)
			continue
		}
		if got, err := d.Apply(before); err != nil || got != after {
			t.Errorf("%s: %v (-want +got):\n%s\n%s\n%s", name, err, cmp.Diff(after, got), d, c.result)
		}
		if got := patchedText(d.Hunks, before); got != after {
			t.Errorf("%s: the hunks by themselves (-want +got):\n%s\n%s\n%s", name, cmp.Diff(after, got), d, c.result)
		}
	}
}

// patchedText returns a text after the changes of hunks. It knows nothing of [FileDiff.Apply], and
// marks where a hunk has another line than the text.
func patchedText(hunks []tooluse.Hunk, text string) string {
	var after strings.Builder
	at := 1 // the number of the first line of the rest
	next := func() (line string) {
		line, text, _ = strings.Cut(text, "\n")
		at++
		return line
	}
	for _, h := range hunks {
		first := h.OldStart
		if h.OldLines == 0 {
			first++ // the hunk stands after that line
		}
		for at < first {
			after.WriteString(next() + "\n")
		}
		for i, line := range h.Lines {
			switch line[0] {
			case ' ', '-':
				whole := text
				if was := next(); was != line[1:] {
					return fmt.Sprintf("line %d is %q, and the hunk has %q", at-1, was, line)
				}
				ended := len(whole) > len(line)-1
				if marked := i+1 < len(h.Lines) && h.Lines[i+1] == noNewline; marked == ended {
					return fmt.Sprintf("line %d: marked as without an end is %t", at-1, marked)
				}
			}
			switch line[0] {
			case ' ', '+':
				after.WriteString(line[1:] + "\n")
			case '\\':
				if h.Lines[i-1][0] != '-' {
					whole := strings.TrimSuffix(after.String(), "\n")
					after.Reset()
					after.WriteString(whole)
				}
			}
		}
	}
	return after.String() + text
}

// TestGitAppliesEdits gives the unified diffs of random calls to git, all in one patch.
func TestGitAppliesEdits(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	r := soak.Rand(t)
	var patch strings.Builder
	after := map[string]string{}
	for n := range soak.Size(200, 5000) {
		before := randomCode(r)
		edit := randomStringEdit(r, before)
		text, _ := replaceString(before, edit)
		name := fmt.Sprintf("file %d.go", n)
		call := newEdit("Edit", before, text, []tooluse.StringEdit{edit}, true)
		switch {
		case n%8 == 0: // a new file
			before, call = "", newWrite(nil, text, true)
		case n%3 == 0:
			call = newWrite(&before, text, true)
		}
		if before == text {
			continue
		}
		d, ok := call.items()["whole result"].Diff()
		if !ok {
			t.Fatalf("no diff: %s", call.result)
		}
		d.Path = name
		patch.WriteString(d.String())
		if after[name] = text; !d.Created {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), git, "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch.String())
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range after {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestRecordedEdits follows the files of a recorded dialogue. The file before the next call is the
// file after this one.
func TestRecordedEdits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/recorded/2.1.326/tool_edits.txt")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]*changeCall{}   // by ID
	pending := map[string]*changeCall{} // the last call of each file
	before := map[string]string{}       // the file before that call
	checked := 0
	for line := range strings.Lines(string(text)) {
		var frame struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
			Result wire.JSON `json:"tool_use_result"`
		}
		var blocks []struct {
			ID        string    `json:"id"`
			ToolUseID string    `json:"tool_use_id"`
			Name      string    `json:"name"`
			Input     wire.JSON `json:"input"`
		}
		if frameText, ok := strings.CutPrefix(line, "< "); !ok || json.Unmarshal([]byte(frameText), &frame) != nil ||
			json.Unmarshal(frame.Message.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Name != "" {
				calls[b.ID] = &changeCall{tool: b.Name, input: b.Input}
				continue
			}
			call := calls[b.ToolUseID]
			if call == nil {
				continue
			}
			call.result = frame.Result
			var path, now string
			switch r := decodeResult(t, call).(type) {
			case *tooluse.ReadResult:
				path, now = r.File.FilePath, r.File.Content
			case *tooluse.EditResult:
				path, now = r.FilePath, *r.OriginalFile
			case *tooluse.WriteResult:
				if path = r.FilePath; r.OriginalFile != nil {
					now = *r.OriginalFile
				}
			default:
				t.Fatalf("%T: %s", r, call.result)
			}
			if last := pending[path]; last != nil {
				last.check(t, before[path], now)
				checked++
			}
			pending[path], before[path] = call, now
			if call.tool == "Read" {
				pending[path] = nil
			}
		}
	}
	if checked != 13 {
		t.Errorf("%d calls were checked, want 13", checked)
	}
}

func decodeResult(t *testing.T, c *changeCall) tooluse.Result {
	t.Helper()
	r, err := tooluse.DecodeResult(c.tool, c.result)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEditsApply checks the diffs of random calls of each tool.
func TestEditsApply(t *testing.T) {
	t.Parallel()
	r := soak.Rand(t)
	for range soak.Size(400, 100_000) {
		before := randomCode(r)
		edits := make([]tooluse.StringEdit, 1+r.IntN(3))
		after := before
		for i := range edits {
			edits[i] = randomStringEdit(r, after)
			after, _ = replaceString(after, edits[i])
			if i == 0 {
				single := newEdit("Edit", before, after, edits[:1], r.IntN(4) > 0)
				single.check(t, before, after)
			}
		}
		multi := newEdit("MultiEdit", before, after, edits, r.IntN(4) > 0)
		multi.check(t, before, after)
		after = randomCode(r)
		written := newWrite(&before, after, r.IntN(4) > 0)
		written.check(t, before, after)
		written = newWrite(nil, after, true)
		written.check(t, "", after)
		if t.Failed() {
			return
		}
	}
}

// randomCode returns lines with tabs and spaces. Few words make lines repeat.
func randomCode(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(14) {
		b.WriteString([]string{"", "\t", "\t\t", "  ", "    ", " \t", "\t  ", "  \t"}[r.IntN(8)])
		b.WriteString([]string{"", "a", "b", "a\tb", "“a”", "  ", "+", "\\"}[r.IntN(8)])
		b.WriteString([]string{"\n", "\n", "\n", "\n", "\n", "\r\n"}[r.IntN(6)])
	}
	text := b.String()
	if r.IntN(3) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// randomStringEdit returns an edit that fits a text.
func randomStringEdit(r *rand.Rand, text string) tooluse.StringEdit {
	if text == "" {
		return tooluse.StringEdit{NewString: randomCode(r)}
	}
	from := r.IntN(len(text))
	to := from + 1 + r.IntN(min(len(text)-from, 30))
	e := tooluse.StringEdit{OldString: strings.ToValidUTF8(text[from:to], ""), ReplaceAll: r.IntN(3) == 0}
	if e.OldString == "" || !strings.Contains(text, e.OldString) {
		e.OldString = text
	}
	if r.IntN(4) > 0 {
		e.NewString = randomCode(r)
	}
	return e
}

// newEdit returns a call of Edit or MultiEdit, as the agent reports it.
func newEdit(tool, before, after string, edits []tooluse.StringEdit, patched bool) *changeCall {
	result := map[string]any{"filePath": "/f", "structuredPatch": displayedPatch(before, after, patched)}
	input := map[string]any{"file_path": "/f"}
	if tool == "MultiEdit" {
		result["edits"], result["originalFileContents"], input["edits"] = edits, before, edits
	} else {
		e := edits[0]
		result["originalFile"], result["oldString"], result["newString"], result["replaceAll"] = before, e.OldString, e.NewString, e.ReplaceAll
		input["old_string"], input["new_string"], input["replace_all"] = e.OldString, e.NewString, e.ReplaceAll
	}
	return &changeCall{tool, encodeJSON(input), encodeJSON(result)}
}

// newWrite returns a call of Write, as the agent reports it. before is nil for a new file.
func newWrite(before *string, after string, patched bool) *changeCall {
	result := map[string]any{
		"type": "create", "filePath": "/f", "content": after, "originalFile": before, "structuredPatch": []tooluse.Hunk{},
	}
	if before != nil {
		result["type"], result["structuredPatch"] = "update", displayedPatch(*before, after, patched)
	}
	return &changeCall{"Write", encodeJSON(map[string]any{"file_path": "/f", "content": after}), encodeJSON(result)}
}

func encodeJSON(v any) wire.JSON {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return wire.JSON(text)
}

// displayedPatch returns the patch that the agent reports, or an empty one, as after a comparison
// that took too long.
func displayedPatch(before, after string, patched bool) []map[string]any {
	patch := []map[string]any{}
	if !patched {
		return patch
	}
	for _, h := range diffText(before, after) {
		lines := make([]string, len(h.Lines))
		for i, line := range h.Lines {
			lines[i] = line[:1] + displayed(line[1:])
		}
		patch = append(patch, map[string]any{
			"oldStart": max(h.OldStart, 1), "oldLines": h.OldLines, "newStart": max(h.NewStart, 1), "newLines": h.NewLines, "lines": lines,
		})
	}
	return patch
}

// TestRestoredTabs checks the diffs of results that don't have all that is needed.
func TestRestoredTabs(t *testing.T) {
	t.Parallel()
	const patch = `"structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,"lines":["   a","-    b","+      c","   d"]}]`
	tests := []struct {
		name          string
		tool          string
		input, result string
		want          []string
	}{
		{
			"strings that are not in the file", "Edit", `{"file_path":"/f","old_string":"x","new_string":"y"}`,
			`{"filePath":"/f","oldString":"x","newString":"y","originalFile":"\ta\n\t\tb\n\td\n",` + patch + `}`,
			[]string{" \ta", "-\t\tb", "+\t\t\tc", " \td"},
		},
		{
			"another string than was asked for", "Edit", `{"file_path":"/f","old_string":"\t\tb","new_string":"\t\tx"}`,
			`{"filePath":"/f","oldString":"\t\tb","newString":"\t\tx","originalFile":"\ta\n\t\tb\n\td\n",` + patch + `}`,
			[]string{" \ta", "-\t\tb", "+\t\t\tc", " \td"},
		},
		{
			"a patch of another file", "Edit", `{"file_path":"/f","old_string":"b","new_string":"c"}`,
			`{"filePath":"/f","oldString":"b","newString":"c","originalFile":"\tb\n",` + patch + `}`,
			[]string{"-\tb", "+\tc"},
		},
		{
			"a patch of another file, and strings that are not in it", "Edit", `{"file_path":"/f","old_string":"b","new_string":"c"}`,
			`{"filePath":"/f","oldString":"b","newString":"c","originalFile":"\tx\n",` + patch + `}`,
			[]string{"   a", "-    b", "+      c", "   d"},
		},
		{
			"an edit without the file", "Edit", `{"file_path":"/f","old_string":"\t\tb\n","new_string":"\t\t\tc\n"}`,
			`{"filePath":"/f","oldString":"\t\tb\n","newString":"\t\t\tc\n","originalFile":null,` + patch + `}`,
			[]string{" \ta", "-\t\tb", "+\t\t\tc", " \td"},
		},
		{
			"tabs and spaces", "Edit", `{"file_path":"/f","old_string":"    b\n","new_string":"\t\t\tc\n"}`,
			`{"filePath":"/f","oldString":"    b\n","newString":"\t\t\tc\n","originalFile":null,` + patch + `}`,
			[]string{"   a", "-    b", "+\t\t\tc", "   d"},
		},
		{
			"spaces only", "Edit", `{"file_path":"/f","old_string":"    b\n","new_string":"      c\n"}`,
			`{"filePath":"/f","oldString":"    b\n","newString":"      c\n","originalFile":"  a\n    b\n  d\n",` + patch + `}`,
			[]string{"   a", "-    b", "+      c", "   d"},
		},
		{
			"a written file without the file before", "Write", `{"file_path":"/f","content":"\ta\n\t\t\tc\n  d\n"}`,
			`{"type":"update","filePath":"/f","content":"\ta\n\t\t\tc\n  d\n","originalFile":null,` + patch + `}`,
			[]string{" \ta", "-    b", "+\t\t\tc", "   d"},
		},
		{
			"a written file without its content", "Write", `{"file_path":"/f","content":"\ta\n\t\t\tc\n\td\n"}`,
			`{"type":"update","filePath":"/f","content":"","originalFile":null,` + patch + `}`,
			[]string{" \ta", "-\t\tb", "+\t\t\tc", " \td"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			call := changeCall{tt.tool, wire.JSON(tt.input), wire.JSON(tt.result)}
			for name, item := range call.items() {
				d, ok := item.Diff()
				if !ok || len(d.Hunks) != 1 {
					t.Fatalf("%s: %+v, %v", name, d, ok)
				}
				if diff := cmp.Diff(tt.want, d.Hunks[0].Lines); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// TestDiffOfPartsEqualsDiffOfWhole compares diffs that leave out equal lines at both ends with diffs
// of all lines.
func TestDiffOfPartsEqualsDiffOfWhole(t *testing.T) {
	t.Parallel()
	r := soak.Rand(t)
	for range soak.Size(300, 100_000) {
		head, tail := strings.Repeat("x\n", r.IntN(200)), strings.Repeat("\tx\n", r.IntN(200))
		before, after := head+randomCode(r)+tail, head+randomCode(r)+tail
		a, b := splitLines(before), splitLines(after)
		if diff := cmp.Diff(fmt.Sprint(hunksOf(a, b, compareLines(a, b))), fmt.Sprint(diffText(before, after))); diff != "" {
			t.Fatalf("%q to %q (-want +got):\n%s", before, after, diff)
		}
	}
}
