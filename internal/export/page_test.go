package export

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pageTags are the elements that a page may have, with their attributes.
var pageTags = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"a": "href rel class", "div": "class", "nav": "class aria-label", "p": "class", "ol": "start", "ul": "class", "li": "class",
	"span": "class title", "main": "id", "header": "class", "h1": "", "h2": "", "h3": "", "h4": "", "h5": "", "h6": "",
	"dl": "class", "dt": "", "dd": "class", "details": "class open", "summary": "", "table": "", "thead": "", "tbody": "",
	"tr": "class", "th": "class align", "td": "class align", "article": "class id", "aside": "class", "section": "class",
	"time": "datetime", "pre": "class", "code": "", "footer": "", "img": "alt src", "em": "", "strong": "", "del": "",
	"blockquote": "", "hr": "", "br": "", "input": "checked disabled type",
}

var voidTags = []string{"meta", "img", "hr", "br", "input"}

var attribute = regexp.MustCompile(`^\s+([a-z-]+)(?:="([^"<>]*)")?`)

// checkPage fails unless a page is made of known tags that nest, of attributes
// that can't do anything, and of text. It returns the text.
func checkPage(t *testing.T, page string) string {
	t.Helper()
	page, ok := strings.CutPrefix(page, "<!DOCTYPE html>\n")
	if !ok {
		t.Fatalf("no page: %.80q", page)
	}
	style := page[strings.Index(page, "<style>") : strings.Index(page, "</style>")+len("</style>")]
	page = strings.Replace(page, style, "", 1)
	var text strings.Builder
	var open []string
	for page != "" {
		before, rest, found := strings.Cut(page, "<")
		if strings.Contains(before, ">") {
			t.Fatalf("an unescaped > in %q", before)
		}
		text.WriteString(html.UnescapeString(before))
		if !found {
			break
		}
		tag, behind, closed := strings.Cut(rest, ">")
		if !closed {
			t.Fatalf("a tag without an end: %.80q", rest)
		}
		page = behind
		if name, ends := strings.CutPrefix(tag, "/"); ends {
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> inside of %v", name, open)
			}
			open = open[:len(open)-1]
			continue
		}
		if name := checkTag(t, tag); !slices.Contains(voidTags, name) {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v are not closed", open)
	}
	checkText(t, text.String())
	return text.String()
}

// checkTag checks the inside of a tag, and returns its name.
func checkTag(t *testing.T, tag string) string {
	t.Helper()
	name := tag
	if i := strings.IndexAny(tag, " \n"); i >= 0 {
		name = tag[:i]
	}
	allowed, ok := pageTags[name]
	if !ok {
		t.Fatalf("an element <%s>", tag)
	}
	for rest := strings.TrimSuffix(tag[len(name):], "/"); strings.TrimSpace(rest) != ""; {
		match := attribute.FindStringSubmatch(rest)
		if len(match) < 3 || !slices.Contains(strings.Fields(allowed), match[1]) {
			t.Fatalf("an attribute of <%.200s>", tag)
		}
		checkAttribute(t, name, match[1], html.UnescapeString(match[2]))
		rest = rest[len(match[0]):]
	}
	return name
}

func checkAttribute(t *testing.T, tag, name, value string) {
	t.Helper()
	checkText(t, value)
	switch name {
	case "href":
		lower := strings.ToLower(value)
		if !slices.ContainsFunc([]string{"#", "http://", "https://", "mailto:"}, func(p string) bool { return strings.HasPrefix(lower, p) }) {
			t.Errorf("a link to %q", value)
		}
	case "src":
		data, ok := strings.CutPrefix(value, "data:image/")
		kind, _, _ := strings.Cut(data, ";base64,")
		if !ok || !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, kind) {
			t.Errorf("a picture %.60q", value)
		}
	case "type":
		if tag == "input" && value != "checkbox" {
			t.Errorf("an input of type %q", value)
		}
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && r != joiner && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
			t.Errorf("%U in the text", r)
			return
		}
	}
}
