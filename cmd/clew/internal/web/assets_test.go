package web

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxClient is the maximum total size of scripts and styles, compressed, so that pages load
// instantly.
const maxClient = 60 << 10

func TestAssetsAreSmall(t *testing.T) {
	t.Parallel()
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, text := range a.files {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %d compressed", name, len(text), packed.Len())
		total += packed.Len()
	}
	if t.Logf("%d bytes in all", total); total > maxClient {
		t.Errorf("scripts and styles have %d bytes, more than %d", total, maxClient)
	}
}

// unsafeSource matches code that the pages' policy would block, or that turns text into markup.
var unsafeSource = regexp.MustCompile(`\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|setAttribute\("style"|https?://`)

// Only one line of the client makes markup of a text, and no file names another site.
func TestAssetsAreSafe(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(embedded, "assets/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(embedded, file)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(file)
		if name != "open.js" && !bytes.HasPrefix(text, []byte("// @ts-check\n")) {
			t.Errorf("%s is not checked", name)
		}
		for _, line := range strings.Split(string(text), "\n") {
			isPolicy := name == "dom.js" && line == "  template.innerHTML = policy.createHTML(html);"
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s has a text of several lines, in which comments would be looked for: %s", name, line)
			}
			if found := unsafeSource.FindString(line); found != "" && !isPolicy {
				t.Errorf("%s has %s: %s", name, found, line)
			}
		}
	}
}

// No line has a comment that withoutComments would take code away with.
func TestCommentsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(embedded, "assets/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(embedded, file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if hasHardComment(line) {
				t.Errorf("%s:%d: the code beside the comment would be left out: %s", file, i+1, line)
			}
		}
	}
	for line, want := range map[string]bool{
		"*/ f();": true, "/* a */ f(); /* b */": true, "/* a */": false, "/* a */ f();": false, " */": false, "f(); /* a */ g();": false,
	} {
		if got := hasHardComment(line); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// hasHardComment reports whether code follows the end of a comment of several lines, or is between two
// comments.
func hasHardComment(line string) bool {
	line = strings.TrimSpace(line)
	before, _, ends := strings.Cut(line, "*/")
	begins := strings.HasPrefix(line, "/*")
	return ends && !strings.HasSuffix(line, "*/") && !strings.Contains(before, "/*") ||
		begins && strings.HasSuffix(line, "*/") && strings.Count(line, "*/") > 1
}

func TestWithoutComments(t *testing.T) {
	t.Parallel()
	const text = "// a\n/** b */\n/**\n * c\n * @param {d} e\n */\nf(); // g\n  /** h */ (i).j();\n  // k\nl * 2;\n/* m */ .n {}\n"
	const want = "\n\n\n\n\n\nf(); // g\n  /** h */ (i).j();\n\nl * 2;\n/* m */ .n {}\n"
	if got := string(withoutComments([]byte(text))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
