package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

// A text is found as often in its lines as in itself, wherever they are broken.
func TestFindBroken(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := range 60 {
		b.WriteString(strings.Repeat("x", 1+n*7%11) + " ")
		if n%3 == 0 {
			b.WriteString("the upload fails here ")
		}
		if n%20 == 0 {
			b.WriteString("https://example.com/" + strings.Repeat("path/", 20) + "upload.go ")
		}
	}
	for _, words := range []string{"upload fails", "the upload fails here", "path/upload.go", "s", "/fail.\\s+h/"} {
		var f finder
		f.set(words)
		want := len(f.matcher.FindAllStringIndex(b.String(), -1))
		for _, width := range soak.Widths(12) {
			lines := tty.Wrap(b.String(), width-2)
			for i := range lines {
				lines[i] = "  " + tty.Dim.Paint(lines[i], true)
			}
			got := 0
			for _, spans := range f.find(lines, width) {
				got += begins(spans)
			}
			if got != want {
				t.Errorf("%s is found %d times in %d columns, want %d", words, got, width, want)
			}
		}
	}
}

func TestMarkBroken(t *testing.T) {
	t.Parallel()
	var f finder
	f.set("two three")
	lines := []string{"  one two", "  three four", "", "  two", "  three two three"}
	mark := tty.Match.Paint("|", true)
	start, end, _ := strings.Cut(mark, "|")
	var got []string
	for _, line := range f.marked(lines, 13, true) {
		line = strings.ReplaceAll(strings.ReplaceAll(line, endOfStyle+start, "<"), end, ">")
		got = append(got, line)
	}
	want := []string{"  one <two>", "  <three> four", "", "  two", "  three <two three>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The user can go from match to match, including matches that are broken over two lines.
func TestSessionFindsBroken(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 1)
	var text strings.Builder
	for n := range 40 {
		fmt.Fprintf(&text, "%s number %d of needles in hay. ", strings.Repeat("z", n%9), n)
	}
	k.says("Go.").answers(text.String()).show()
	s := tell(t, k.source, 44, 12, opens(k.info, Place{}))
	s.press("/").types("of needles in hay").press("enter").see("1 of 40")
	for n := 1; n < 40; n++ {
		s.press("n").see(fmt.Sprint(n+1, " of 40"), fmt.Sprint("number ", n))
	}
}
