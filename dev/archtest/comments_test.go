package archtest

import (
	"errors"
	"fmt"
	"go/doc"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxSubject is the maximum number of words in the first sentence of a package comment.
const maxSubject = 30

// Each package has a comment, and its first sentence names the subject of the package: lists of
// packages show nothing else.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	commented := map[string]bool{}
	for _, s := range sources {
		text := s.syntax.Doc.Text()
		if text == "" { // or a directive
			continue
		}
		if err := checkComment(s.syntax.Name.Name, s.dir, text); err != nil {
			t.Errorf("%s: %v", s.path, err)
		}
		commented[s.dir] = true
	}
	for _, s := range sources {
		if !commented[s.dir] {
			t.Errorf("%s: no file has a package comment", s.dir)
			commented[s.dir] = true
		}
	}
}

func TestPackageCommentRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Package redact finds secrets in text. It is pure.\n": "",
		"Finds secrets.\n":                                      `the comment must start with "Package redact" and a verb`,
		"Package redact: text.\n":                               `the comment must start with "Package redact" and a verb`,
		"Package redact finds secrets\n\nand more.\n":           "the first sentence must end with a full stop",
		"Package redact finds secrets; it masks them.\n":        "the first sentence must be about one subject, without a semicolon or a list after a colon",
		"Package redact is" + strings.Repeat(" so", 30) + ".\n": "the first sentence has 33 words, the limit is 30",
	} {
		got := ""
		if err := checkComment("redact", "redact", text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if err := checkComment("main", "cmd/clew", "Command clew reads sessions.\n"); err != nil {
		t.Error(err)
	}
}

// checkComment returns an error unless text, the comment of the package name in dir, starts with one
// sentence about its subject.
func checkComment(name, dir, text string) error {
	kind := "Package"
	if name == "main" {
		kind, name = "Command", path.Base(dir)
	}
	subject := regexp.MustCompile(`^` + kind + ` ` + regexp.QuoteMeta(name) + ` [a-z]+s[\s,]`)
	first := new(doc.Package).Synopsis(text)
	words := len(strings.Fields(first))
	switch {
	case !subject.MatchString(text):
		return fmt.Errorf("the comment must start with %q and a verb", kind+" "+name)
	case !strings.HasSuffix(first, "."):
		return errors.New("the first sentence must end with a full stop")
	case strings.ContainsAny(first, ";:"):
		return errors.New("the first sentence must be about one subject, without a semicolon or a list after a colon")
	case words > maxSubject:
		return fmt.Errorf("the first sentence has %d words, the limit is %d", words, maxSubject)
	}
	return nil
}
