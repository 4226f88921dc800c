package jobview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

func TestParsePatch(t *testing.T) {
	t.Parallel()
	patch := "diff --git a/main.go b/main.go\nindex 1..2 100644\n--- a/main.go\n+++ b/main.go\n@@ -1,3 +1,3 @@ package main\n package main\n" +
		"--- a removed comment\n+++ an added one\n // <script>alert(1)</script>\n" + "\\ No newline at end of file\ndiff --git a/new \"b/n\\303\\274 w\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/n\\303\\274 w\"\n@@ -0,0 +1 @@\n+a\n" +
		"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/p.png b/p.png\nGIT binary patch\nliteral 1\nx\n" +
		"diff --git a/odd b/odd\n+++ b/odd\n@@ -1,9 +1,9 @@\n damaged\n?\n@@ x @@\n+no hunk\n"
	want := []transcript.FileDiff{
		{Path: "main.go", Added: 1, Removed: 1, Hunks: []tooluse.Hunk{{OldStart: 1, OldLines: 3, NewStart: 1, NewLines: 3, Lines: []string{
			" package main", "--- a removed comment", "+++ an added one", " // <script>alert(1)</script>", `\ No newline at end of file`,
		}}}},
		{Path: "nü w", Created: true, Added: 1, Hunks: []tooluse.Hunk{{NewStart: 1, NewLines: 1, Lines: []string{"+a"}}}},
		{Path: "gone", Deleted: true, Removed: 1, Hunks: []tooluse.Hunk{{OldStart: 1, OldLines: 1, Lines: []string{"-a"}}}},
		{Path: "p.png", Unknown: true},
		{Path: "odd", Hunks: []tooluse.Hunk{{OldStart: 1, OldLines: 9, NewStart: 1, NewLines: 9, Lines: []string{" damaged"}}}},
	}
	if diff := cmp.Diff(want, ParsePatch(patch)); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

// A patch that is too long is not whole.
func TestReadPatch(t *testing.T) {
	t.Parallel()
	e := memfleet.New()
	for length, want := range map[int]bool{0: true, MaxPatch: true, MaxPatch + 1: false} {
		if err := e.Put(t.Context(), "a/1.patch", strings.NewReader(strings.Repeat("+", length))); err != nil {
			t.Fatal(err)
		}
		if text, isWhole, err := ReadPatch(t.Context(), fleet.Open(e, "tester"), "a/1.patch"); len(text) != length || isWhole != want || err != nil {
			t.Errorf("of %d bytes: %d, whole %v, %v", length, len(text), isWhole, err)
		}
	}
	if _, _, err := ReadPatch(t.Context(), fleet.Open(e, "tester"), "a/2.patch"); err == nil {
		t.Error("a patch that is not there has no error")
	}
}
