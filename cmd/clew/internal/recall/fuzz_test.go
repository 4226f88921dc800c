package recall

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clewdev/clew/sessions"
)

// For any transcript and any request, a page is text without escapes on separate lines, and about
// as long as allowed.
func FuzzRead(f *testing.F) {
	s := id(1)
	f.Add([]byte(prompt(s, "first")+"\n"+says(s, strings.Repeat("é\"\n", 400))+"\n"), s, 100, 0, 0, true)
	f.Add([]byte(prompt(s, "a\x1b[31mb")+"\nnot JSON\n"+says(s, "last")), s[:8]+"@0+3", 6000, 3, 40, false)
	f.Add([]byte(strings.Repeat(says(s, "x")+"\n", 60)), s[:8]+".toolu_1@7", 150, 40, 1, true)
	f.Add([]byte("{"), s[:8]+"@999999999999999+999999999", -1, -1, 99, false)
	dir := f.TempDir()
	project := filepath.Join(dir, "-p")
	spills := filepath.Join(project, s, "tool-results")
	if err := os.MkdirAll(spills, 0o700); err != nil {
		f.Fatal(err)
	}
	r := New(Options{
		Index: filepath.Join(f.TempDir(), "search.db"), Store: sessions.NewFolder(dir), Home: "/home/ann", All: true, Results: true,
		Dirs: func(context.Context) []string { return nil },
	})
	f.Cleanup(r.Close)
	f.Fuzz(func(t *testing.T, lines []byte, ref string, tokens, before, after int, results bool) {
		for _, path := range []string{filepath.Join(project, s+".jsonl"), filepath.Join(spills, "toolu_1.txt")} {
			if err := os.WriteFile(path, lines, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		page, err := r.Read(t.Context(), ReadRequest{Ref: ref, MaxTokens: tokens, Before: before, After: after, Results: results})
		if err != nil {
			return
		}
		if !utf8.ValidString(page) || strings.ContainsAny(page, "\x1b\u202e\u200b\x00") || !strings.HasSuffix(page, ").\n") && !strings.HasSuffix(page, "This is the end.\n") {
			t.Fatalf("%q: %q", ref, page)
		}
		if tokens == 0 {
			tokens = usualTokens
		}
		// Quotes and line ends are escaped, and the texts before are counted in characters.
		if most := 3*int(float64(tokens)*bytesPerToken) + 2000; len(page) > most {
			t.Fatalf("%q: %d bytes, want at most %d:\n%s", ref, len(page), most, page)
		}
		for line := range strings.Lines(page) {
			if first, _, _ := strings.Cut(line, " "); !strings.HasPrefix(line, s[:8]) && first != "Session" && first != "Left" && first != "More:" && first != "This" {
				t.Fatalf("%q has a line of its own: %q", ref, line)
			}
		}
	})
}
