package transcript

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestInputDiffOf(t *testing.T) {
	t.Parallel()
	const (
		file     = "a\nb\nc\nd\ne\nf\ng\nh\n"
		windows  = "a\r\nb\r\nc\r\n"
		notebook = `{"cells":[{"id":"one","source":["x = 1\n","y = 2"]},{"source":"z"}]}`
	)
	for _, tt := range []struct{ name, tool, input, file, want string }{
		{"an edit", "Edit", `{"file_path":"/f","old_string":"e","new_string":"E"}`, file,
			"--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"},
		{"an edit of a part of a line", "Edit", `{"file_path":"/f","old_string":"b\nc","new_string":"B"}`, "ab\ncd",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n-ab\n-cd\n\\ No newline at end of file\n+aBd\n\\ No newline at end of file\n"},
		{"an edit of a file with other line ends", "Edit", `{"file_path":"/f","old_string":"a\nb","new_string":"B"}`, windows,
			"--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n-a\n-b\n+B\n c\n"},
		{"an edit everywhere of one place", "Edit", `{"file_path":"/f","old_string":"h\n","new_string":"","replace_all":true}`, file,
			"--- a/f\n+++ b/f\n@@ -5,4 +5,3 @@\n e\n f\n g\n-h\n"},
		{"an edit that deletes a line", "Edit", `{"file_path":"/f","old_string":"b","new_string":""}`, "a\nb\n\tc\n",
			"--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-b\n \tc\n"},
		{"several places", "Edit", `{"file_path":"/f","old_string":"x","new_string":"y"}`, "x x\n\nx\nxx",
			"the old text is in the file 5 times, first on lines 1, 3, 4"},
		{"not there", "Edit", `{"file_path":"/f","old_string":"x","new_string":"y"}`, file, "the old text is not in the file"},
		{"a new file that is there", "Edit", `{"file_path":"/f","old_string":"","new_string":"y"}`, file, "the old text is not in the file"},
		{"no change", "Write", `{"file_path":"/f","content":"a\r\nb\r\nc\r\n"}`, windows, "it would not change the file"},
		{"edits", "MultiEdit", `{"file_path":"/f","edits":[{"old_string":"b\nc\n","new_string":""},{"old_string":"a\nd","new_string":"D"}]}`,
			"a\nb\nc\nd\n", "--- a/f\n+++ b/f\n@@ -1,4 +1,1 @@\n-a\n-b\n-c\n-d\n+D\n"},
		{"a file that is written again", "Write", `{"file_path":"/f","content":"a\nc\n"}`, "a\nb\nc\n",
			"--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
		{"a cell", "NotebookEdit", `{"notebook_path":"/n","cell_id":"one","new_source":"x = 1\ny = 3"}`, notebook,
			"--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n"},
		{"a cell by number", "NotebookEdit", `{"notebook_path":"/n","cell_id":"cell-1","new_source":"","edit_mode":"delete"}`, notebook,
			"--- a/n\n+++ b/n\n@@ -1,1 +0,0 @@\n-z\n"},
		{"a new cell", "NotebookEdit", `{"notebook_path":"/n","new_source":"q","edit_mode":"insert"}`, notebook,
			"--- a/n\n+++ b/n\n@@ -0,0 +1,1 @@\n+q\n"},
		{"a missing cell", "NotebookEdit", `{"notebook_path":"/n","cell_id":"two","new_source":"q"}`, notebook, "the notebook has no such cell"},
		{"not a notebook", "NotebookEdit", `{"notebook_path":"/n","cell_id":"two","new_source":"q"}`, file, "the file is not a notebook"},
		{"another tool", "Bash", `{"command":"rm f"}`, file, "it is not a call that changes a file"},
	} {
		d, err := InputDiffOf(tt.tool, wire.JSON(tt.input), tt.file)
		got := fmt.Sprint(err)
		if err == nil {
			got = d.String()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err == nil && d.Relative {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestToolSummaryIn(t *testing.T) {
	t.Parallel()
	const command = "cd /home/dev/proj/service && go test -run TestUpload -count=20 ./upload/..."
	for _, tt := range []struct{ dir, tool, input, want string }{
		{"/home/dev/proj", "Edit", `{"file_path":"/home/dev/proj/greet.py","old_string":"a","new_string":"b"}`, "greet.py - 1 line"},
		{"/home/dev/proj", "Read", `{"file_path":"/home/dev/proj/a/b/c/d.go"}`, "a/b/c/d.go"},
		{"/home/dev/proj", "Read", `{"file_path":"/home/dev/project/d.go"}`, "/home/dev/project/d.go"},
		{"/home/dev/proj", "Read", `{"file_path":"/etc/passwd"}`, "/etc/passwd"},
		{"/home/dev/proj", "Read", `{"file_path":"a.go"}`, "a.go"},
		{"/home/dev/proj", "Glob", `{"pattern":"*.go","path":"/home/dev/proj"}`, `"*.go" in .`},
		{"/home/dev/proj", "Bash", `{"command":"` + command + `","description":"Test"}`, "Test: " + command},
		{"", "Bash", `{"command":"` + command + `","description":"Test"}`, "Test: " + command[:53] + "…"},
		{"/", "Read", `{"file_path":"/etc/passwd"}`, "etc/passwd"},
		{`C:\work`, "Read", `{"file_path":"C:\\work\\a\\b.go"}`, `a\b.go`},
		{"", "Read", `{"file_path":"/home/dev/proj/a/b.go"}`, "a/b.go"},
	} {
		if got := ToolSummaryIn(tt.dir, tt.tool, wire.JSON(tt.input)); got != tt.want {
			t.Errorf("in %q: %q, want %q", tt.dir, got, tt.want)
		}
	}
}
