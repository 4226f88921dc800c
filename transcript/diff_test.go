package transcript

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

func TestItemDiff(t *testing.T) {
	t.Parallel()
	const patch = `[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" hi","-there","+world"]}]`
	edit := wire.JSON(`{"file_path":"/p/out.txt","old_string":"there","new_string":"world"}`)
	tests := []struct {
		name string
		item DisplayItem
		want string
	}{
		{
			"an edit with its patch",
			DisplayItem{
				ToolName:   "Edit",
				ToolInput:  edit,
				Structured: `{"filePath":"/p/out.txt","structuredPatch":` + patch + `}`,
				Patch:      patch,
			},
			"--- a/p/out.txt\n+++ b/p/out.txt\n@@ -1,2 +1,2 @@\n hi\n-there\n+world\n",
		},
		{
			"an edit of which only the patch was kept",
			DisplayItem{ToolName: "Edit", ToolInput: edit, Patch: patch},
			"--- a/p/out.txt\n+++ b/p/out.txt\n@@ -1,2 +1,2 @@\n hi\n-there\n+world\n",
		},
		{
			"an edit with the file as it was",
			DisplayItem{
				ToolName:  "Edit",
				ToolInput: edit,
				Structured: `{"filePath":"/p/out.txt","oldString":"there","newString":"world",` +
					`"originalFile":"hi\nthere\n","structuredPatch":[]}`,
			},
			"--- a/p/out.txt\n+++ b/p/out.txt\n@@ -1,2 +1,2 @@\n hi\n-there\n+world\n",
		},
		{
			"an edit everywhere",
			DisplayItem{
				ToolName:   "Edit",
				ToolInput:  edit,
				Structured: `{"filePath":"/f","oldString":"x","newString":"y","replaceAll":true,"originalFile":"x\nx"}`,
			},
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-x\n-x\n\\ No newline at end of file\n+y\n+y\n\\ No newline at end of file\n",
		},
		{
			"an edit that is not found in the file",
			DisplayItem{
				ToolName:   "Edit",
				ToolInput:  edit,
				Structured: `{"filePath":"/p/out.txt","oldString":"“","newString":"y","originalFile":"x\n"}`,
			},
			"relative --- a/p/out.txt\n+++ b/p/out.txt\n@@ -1,1 +1,1 @@\n-there\n+world\n",
		},
		{
			"an edit with what git says",
			DisplayItem{
				ToolName:  "Edit",
				ToolInput: edit,
				Structured: `{"filePath":"/p/out.txt","gitDiff":{"filename":"out.txt","status":"modified",` +
					`"patch":"@@ -4 +4,2 @@ func\n-a\n+b\n+c\n"}}`,
			},
			"--- a/p/out.txt\n+++ b/p/out.txt\n@@ -4,1 +4,2 @@\n-a\n+b\n+c\n",
		},
		{
			"an edit of which only the input is known",
			DisplayItem{ToolName: "Edit", ToolInput: `{"file_path":"/f","old_string":"a\nb\nc","new_string":"a\nc\n"}`},
			"relative --- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-b\n c\n",
		},
		{
			"an edit that takes a line end away",
			DisplayItem{ToolName: "Edit", ToolInput: `{"file_path":"/f","old_string":"a\n","new_string":"a"}`},
			"relative --- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n",
		},
		{
			"an edit that makes a file",
			DisplayItem{ToolName: "Edit", ToolInput: `{"file_path":"/f","old_string":"","new_string":"a\n"}`},
			"created --- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n",
		},
		{
			"edits with the file as it was",
			DisplayItem{
				ToolName: "MultiEdit",
				Structured: `{"filePath":"/f","edits":[{"old_string":"a","new_string":"b"},{"old_string":"b",` +
					`"new_string":"c"}],"originalFileContents":"a\n"}`,
			},
			"--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+c\n",
		},
		{
			"edits of which only the input is known",
			DisplayItem{
				ToolName: "MultiEdit",
				ToolInput: `{"file_path":"/f","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c",` +
					`"new_string":"d"}]}`,
			},
			"relative --- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+b\n@@ -1,1 +1,1 @@\n-c\n+d\n",
		},
		{
			"a new file",
			DisplayItem{
				ToolName: "Write",
				Structured: `{"type":"create","filePath":"/p/out.txt","content":"hi\nthere\n","structuredPatch":[],` +
					`"originalFile":null}`,
			},
			"created --- /dev/null\n+++ b/p/out.txt\n@@ -0,0 +1,2 @@\n+hi\n+there\n",
		},
		{
			"a new empty file",
			DisplayItem{
				ToolName:   "Write",
				Structured: `{"type":"create","filePath":"/f","content":"","structuredPatch":[],"originalFile":null}`,
			},
			"created --- /dev/null\n+++ b/f\n",
		},
		{
			"a file that is written again",
			DisplayItem{
				ToolName:   "Write",
				Structured: `{"type":"update","filePath":"/f","content":"b\n","structuredPatch":[],"originalFile":"a\n"}`,
			},
			"--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+b\n",
		},
		{
			"a file that is written again as it was",
			DisplayItem{
				ToolName:   "Write",
				ToolInput:  `{"file_path":"/f","content":"a\n"}`,
				Structured: `{"type":"update","filePath":"/f","content":"a\n","structuredPatch":[],"originalFile":"a\n"}`,
			},
			"",
		},
		{
			"a new file of which only the input is known",
			DisplayItem{
				ToolName:   "Write",
				ToolInput:  `{"file_path":"/f","content":"a"}`,
				ToolResult: "File created successfully at: /f",
			},
			"created --- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n",
		},
		{
			"a file that was there, of which only the input is known",
			DisplayItem{
				ToolName:   "Write",
				ToolInput:  `{"file_path":"/f","content":"a\n"}`,
				ToolResult: "The file /f has been updated.",
			},
			"relative --- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n",
		},
		{
			"a notebook",
			DisplayItem{
				ToolName:   "NotebookEdit",
				Structured: `{"notebook_path":"/n","original_file":"{\n1\n}","updated_file":"{\n2\n}","new_source":"2"}`,
			},
			"--- a/n\n+++ b/n\n@@ -1,3 +1,3 @@\n {\n-1\n+2\n }\n\\ No newline at end of file\n",
		},
		{
			"a cell",
			DisplayItem{ToolName: "NotebookEdit", Structured: `{"notebook_path":"/n","old_source":"1","new_source":"2"}`},
			"relative --- a/n\n+++ b/n\n@@ -1,1 +1,1 @@\n-1\n+2\n",
		},
		{
			"a cell of which only the input is known",
			DisplayItem{ToolName: "NotebookEdit", ToolInput: `{"notebook_path":"/n","new_source":"2"}`},
			"relative --- a/n\n+++ b/n\n@@ -0,0 +1,1 @@\n+2\n",
		},
		{
			"a notebook that could not be changed",
			DisplayItem{
				ToolName:   "NotebookEdit",
				ToolInput:  `{"notebook_path":"/n","new_source":"2"}`,
				Structured: `{"notebook_path":"/n","error":"no cell"}`,
			},
			"",
		},
		{"a call that failed", DisplayItem{ToolName: "Edit", ToolInput: edit, ToolError: true}, ""},
		{
			"a call that was refused",
			DisplayItem{
				ToolName:   "Edit",
				ToolInput:  edit,
				Structured: `"User rejected tool use"`,
			},
			"",
		},
		{
			"a call whose result says so",
			DisplayItem{
				ToolName:   "Write",
				ToolInput:  `{"file_path":"/f","content":"a"}`,
				Structured: `"Error: not today"`,
			},
			"",
		},
		{"another tool", DisplayItem{ToolName: "Read", ToolInput: `{"file_path":"/f"}`, Patch: patch}, ""},
		{"a call without an input", DisplayItem{ToolName: "Edit", ToolInput: `{}`}, ""},
		{"a call with a broken one", DisplayItem{ToolName: "Edit", ToolInput: `{"file`}, ""},
		{
			"a path that is no line",
			DisplayItem{ToolName: "Write", ToolInput: `{"file_path":"a\nb","content":"x\n"}`},
			"created --- /dev/null\n+++ \"b/a\\nb\"\n@@ -0,0 +1,1 @@\n+x\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			item := tt.item
			item.Type, item.HasResult = ItemToolCall, true
			d, ok := item.Diff()
			if ok != (tt.want != "") {
				t.Fatalf("%+v, %v", d, ok)
			}
			if diff := cmp.Diff(tt.want, describe(d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			item.HasResult = false
			if d, ok := item.Diff(); ok {
				t.Errorf("without a result: %+v", d)
			}
		})
	}
}

// describe returns a diff as text, with its flags in front.
func describe(d *FileDiff) string {
	if d == nil {
		return ""
	}
	text := d.String()
	if d.Relative {
		text = "relative " + text
	}
	if d.Created {
		text = "created " + text
	}
	return text
}

func TestCommandDiffs(t *testing.T) {
	t.Parallel()
	const edits = `{"files":[
		{"filePath":"/a","hunks":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-x","+y","+z"]}]},
		{"filePath":"/b","hunks":[],"created":true},
		{"filePath":"/c","hunks":[{"oldStart":1,"oldLines":1,"newStart":0,"newLines":0,"lines":["-x"]}],"deleted":true},
		{"filePath":"/d","hunks":[]}],"moreFiles":1,"changedFiles":["/a","/b","/c","/d","/e"]}`
	want := []FileDiff{
		{Path: "/a", Hunks: []tooluse.Hunk{hunk(1, 1, 1, 2, "-x", "+y", "+z")}, Added: 2, Removed: 1},
		{Path: "/b", Hunks: []tooluse.Hunk{}, Created: true},
		{Path: "/c", Hunks: []tooluse.Hunk{hunk(1, 1, 0, 0, "-x")}, Removed: 1, Deleted: true},
		{Path: "/d", Hunks: []tooluse.Hunk{}, Unknown: true},
		{Path: "/e", Unknown: true},
	}
	item := DisplayItem{
		Type: ItemToolCall, ToolName: "Bash", HasResult: true, Structured: `{"stdout":"","bashEditDiff":` + edits + `}`,
	}
	if diff := cmp.Diff(want, item.Diffs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	item.Structured, item.Patch = "", edits
	if diff := cmp.Diff(want, item.Diffs()); diff != "" {
		t.Errorf("from the patch (-want +got):\n%s", diff)
	}
	item.Patch = ""
	if got := item.Diffs(); got != nil {
		t.Errorf("a command that changed nothing: %+v", got)
	}
	if !strings.HasSuffix(want[2].String(), "+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n") {
		t.Errorf("a file that is gone: %s", want[2].String())
	}
}

func TestInputDiff(t *testing.T) {
	t.Parallel()
	d, ok := InputDiff("Edit", `{"file_path":"/f","old_string":"a","new_string":"b"}`)
	if !ok || d.Added != 1 || d.Removed != 1 || !d.Relative {
		t.Errorf("%+v, %v", d, ok)
	}
	for _, call := range [][2]string{
		{"Edit", `{}`}, {"Edit", `{"file_path":"/f","old_string":"a","new_string":"a"}`}, {"Write", `{"content":"x"}`},
		{"NotebookEdit", `{"notebook_path":"/n","new_source":"x","edit_mode":"delete"}`}, {"Bash", `{"command":"rm x"}`}, {"Edit", `{`},
	} {
		if d, ok := InputDiff(call[0], wire.JSON(call[1])); ok {
			t.Errorf("%s: %+v", call, d)
		}
	}
}

func TestDiffsOfChunks(t *testing.T) {
	call := func(id, tool, path string) DisplayItem {
		return DisplayItem{
			Type: ItemToolCall, ToolName: tool, ToolID: id, HasResult: true, Timestamp: time.Unix(int64(len(id)), 0),
			ToolInput: wire.JSON(fmt.Sprintf(`{"file_path":%q,"content":"a\nb\n","old_string":"a","new_string":"c\nd"}`, path)),
		}
	}
	agent := new(Agent)
	failed := call("t5", "Edit", "/a")
	failed.ToolError = true
	starts := DisplayItem{Type: ItemSubagent, ToolName: "Agent", HasResult: true, Agents: []*Agent{agent, agent, nil}}
	chunks := []Chunk{
		{Type: UserChunk},
		{Type: AIChunk, Items: []DisplayItem{
			call("t1", "Write", "/a"), {Type: ItemOutput}, call("t2", "Edit", "/b"), starts,
		}},
		{Type: AIChunk, Items: []DisplayItem{call("t4", "Edit", "/a"), failed}},
	}
	agent.Transcript = &Transcript{Chunks: []Chunk{
		{Type: AIChunk, Items: []DisplayItem{call("s1", "Edit", "/c"), starts}},
	}}

	var paths []string
	for _, d := range ChunkDiffs(&chunks[1]) {
		paths = append(paths, d.Path)
	}
	if diff := cmp.Diff([]string{"/a", "/b", "/c"}, paths); diff != "" {
		t.Errorf("one chunk (-want +got):\n%s", diff)
	}

	var got []string
	for _, f := range Diffs(chunks) {
		line := fmt.Sprintf("%s created=%v +%d -%d", f.Path, f.Created, f.Added, f.Removed)
		for _, c := range f.Calls {
			line += fmt.Sprintf(" %s/%s/%v", c.ToolName, c.ToolID, c.Agent != nil)
		}
		got = append(got, line)
	}
	want := []string{
		"/a created=true +4 -1 Write/t1/false Edit/t4/false",
		"/b created=false +2 -1 Edit/t2/false",
		"/c created=false +2 -1 Edit/s1/true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
	if got := Diffs(nil); got != nil {
		t.Errorf("no chunks: %+v", got)
	}
}

// TestDiffTurnsBeforeIntoAfter holds the comparison to its meaning: the hunks of two texts, applied
// to the first, give the second.
func TestDiffTurnsBeforeIntoAfter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(800, 30_000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := randomText(r)
		after := randomEdit(r, before)
		if seed%5 == 0 {
			after = randomText(r)
		}
		checkDiff(t, before, after)
	}
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(strings.Repeat(string(rune('a'+r.IntN(4))), r.IntN(3)))
		b.WriteString([]string{"\n", "\n", "\n", "\r\n", ""}[r.IntN(5)])
	}
	return b.String()
}

func randomEdit(r *rand.Rand, text string) string {
	lines := splitLines(text)
	for range r.IntN(6) {
		at := r.IntN(len(lines) + 1)
		switch {
		case r.IntN(2) == 0 && at < len(lines):
			lines = append(lines[:at:at], lines[at+1:]...)
		default:
			lines = append(lines[:at:at], append([]string{"new\n"}, lines[at:]...)...)
		}
	}
	return strings.Join(lines, "")
}

func checkDiff(t *testing.T, before, after string) {
	t.Helper()
	d := newFileDiff("f", diffText(before, after))
	got, err := d.Apply(before)
	if err != nil || got != after {
		t.Fatalf("%q to %q gives %q, %v:\n%s", before, after, got, err, d)
	}
	if (len(d.Hunks) == 0) != (before == after) {
		t.Fatalf("%q to %q has %d hunks", before, after, len(d.Hunks))
	}
	added, removed := 0, 0
	for _, h := range d.Hunks {
		counts := map[byte]int{}
		for _, line := range h.Lines {
			counts[line[0]]++
		}
		if counts[' ']+counts['-'] != h.OldLines || counts[' ']+counts['+'] != h.NewLines {
			t.Fatalf("%q to %q: a hunk does not count right:\n%s", before, after, d)
		}
		added, removed = added+counts['+'], removed+counts['-']
	}
	if d.Added != added || d.Removed != removed {
		t.Fatalf("+%d -%d, want +%d -%d:\n%s", d.Added, d.Removed, added, removed, d)
	}
	parsed := parseHunks(d.String())
	if diff := cmp.Diff(d.Hunks, parsed); len(d.Hunks) > 0 && diff != "" {
		t.Fatalf("read back (-want +got):\n%s", diff)
	}
}

func TestDiffIsShort(t *testing.T) {
	t.Parallel()
	before, after := "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n"
	if d := newFileDiff("f", diffText(before, after)); d.Added+d.Removed != 5 {
		t.Errorf("%d edits, want 5:\n%s", d.Added+d.Removed, d)
	}
	var a, b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&a, "%d\n", i)
		if i != 20 && i != 60 {
			fmt.Fprintf(&b, "%d\n", i)
		}
	}
	d := newFileDiff("f", diffText(a.String(), b.String()))
	want := "--- a/f\n+++ b/f\n@@ -18,7 +18,6 @@\n 17\n 18\n 19\n-20\n 21\n 22\n 23\n" +
		"@@ -58,7 +57,6 @@\n 57\n 58\n 59\n-60\n 61\n 62\n 63\n"
	if diff := cmp.Diff(want, d.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfHugeFiles(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
	}
	before, after := "same\n"+a.String()+"same\n", "same\n"+b.String()+"same\n"
	hunks := diffText(before, after)
	if len(hunks) != 1 {
		t.Fatalf("%d hunks", len(hunks))
	}
	if got, err := newFileDiff("f", hunks).Apply(before); err != nil || got != after {
		t.Errorf("it does not fit: %v", err)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	hunks := func(start, lines int, text ...string) []tooluse.Hunk {
		return []tooluse.Hunk{hunk(start, lines, 1, 1, text...)}
	}
	for name, d := range map[string]*FileDiff{
		"another line":     {Hunks: hunks(1, 1, "-x", "+y")},
		"behind the end":   {Hunks: hunks(9, 1, "-a", "+y")},
		"before the start": {Hunks: hunks(0, 1, "-a", "+y")},
		"no mark":          {Hunks: hunks(1, 1, "")},
		"another mark":     {Hunks: hunks(1, 1, "-a", "y")},
		"too many lines":   {Hunks: hunks(2, 2, "-b", "-c")},
		"an end too many":  {Hunks: hunks(2, 1, "-b", noNewline)},
		"out of order":     {Hunks: append(hunks(2, 1, "-b"), hunks(1, 1, "-a")...)},
		"relative":         {Relative: true},
		"unknown":          {Unknown: true},
	} {
		if got, err := d.Apply("a\nb\n"); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRecordedDiffs looks at the files that the agent wrote in the recorded dialogue.
func TestRecordedDiffs(t *testing.T) {
	t.Parallel()
	r, err := tooluse.DecodeResult("Edit", `{"filePath":"/home/dev/project/out.txt","oldString":"there","newString":"world",`+
		`"originalFile":"hi\nthere\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,`+
		`"lines":[" hi","-there","+world"]}],"userModified":false,"replaceAll":false}`)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := new(DisplayItem).resultDiff(r)
	edit := r.(*tooluse.EditResult) //nolint:forcetypeassert // it is one
	if diff := cmp.Diff(edit.StructuredPatch, diffText(*edit.OriginalFile, "hi\nworld\n")); diff != "" {
		t.Errorf("the agent's patch and ours (-want +got):\n%s", diff)
	}
	if got, err := d.Apply(*edit.OriginalFile); err != nil || got != "hi\nworld\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// The patch by itself gives the same diff as the whole result, and as the input if that is not kept.
func TestPatchedFile(t *testing.T) {
	t.Parallel()
	const patch = `[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" hi","-there","+world"]}]`
	item := DisplayItem{
		Type: ItemToolCall, ToolName: "Edit", HasResult: true, Patch: patch,
		ToolInput:  `{"file_path":"/p/caf\u00e9.txt","old_string":"there","new_string":"world"}`,
		Structured: `{"filePath":"/p/caf\u00e9.txt","oldString":"there","newString":"world","structuredPatch":` + patch + `}`,
	}
	r, err := item.Result()
	if err != nil {
		t.Fatal(err)
	}
	want, _ := item.resultDiff(r)
	for name, change := range map[string]func(*DisplayItem){
		"result":       func(*DisplayItem) {},
		"input":        func(i *DisplayItem) { i.Structured = "" },
		"order":        func(i *DisplayItem) { i.Structured = `{"structuredPatch":` + patch + `,"filePath":"/p/caf\u00e9.txt"}` },
		"no whole one": func(i *DisplayItem) { i.Structured = `{"filePath":"/p/caf` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := item
			change(&i)
			got, ok := i.Diff()
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc", `[{"oldStart":1,"lines":["-a"]}]`)
	f.Add("", "x", `{"files":[{"filePath":"/a","hunks":[{}]}]}`)
	f.Fuzz(func(t *testing.T, before, after, structured string) {
		checkDiff(t, before, after)
		for _, tool := range []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"} {
			item := DisplayItem{
				Type: ItemToolCall, ToolName: tool, HasResult: true,
				ToolInput: wire.JSON(structured), Structured: wire.JSON(structured), Patch: wire.JSON(structured),
			}
			for _, d := range item.Diffs() {
				_ = d.String()
				_, _ = d.Apply(before)
			}
		}
		parseHunks(after)
	})
}

func BenchmarkDiff(b *testing.B) {
	var before, after strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&before, "line %d\n", i)
		if i%100 != 0 {
			fmt.Fprintf(&after, "line %d\n", i)
		}
	}
	b.SetBytes(int64(before.Len()))
	for b.Loop() {
		diffText(before.String(), after.String())
	}
}

// hunk returns a hunk with these starts and numbers of lines.
func hunk(oldStart, oldLines, newStart, newLines int, lines ...string) tooluse.Hunk {
	return tooluse.Hunk{OldStart: oldStart, OldLines: oldLines, NewStart: newStart, NewLines: newLines, Lines: lines}
}
