package export

import (
	"bytes"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func highlighted(t *testing.T, code, name string) string {
	t.Helper()
	var b bytes.Buffer
	m := newMarkup(&b)
	m.highlight(code, findLanguage(name))
	if err := m.flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each case lists the coloured parts of some code, with their classes.
func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, code, want string }{
		{"go", "func f() { s := `a\"\nb` // c", "k:func f:f s:`a\"\nb` c:// c"},
		{"go", `x := "a\"b" + '\'' + 0x1F`, `s:"a\"b" s:'\'' n:0x1F`},
		{"python", "x = f'it\\'s' + rb\"b\" # it's", `s:'it\'s' s:"b" c:# it's`},
		{"py", "'''a\n'b''' + 'c\nreturn", "s:'''a\n'b''' s:'c k:return"},
		{"ts", "const s = `a\\`${b}\n` /* c */", "k:const s:`a\\`${b}\n` c:/* c */"},
		{"sh", `echo "a \" b" '\' # c`, `k:echo s:"a \" b" s:'\' c:# c`},
		{"bash", "echo don't $x a#b", "k:echo f:$x"},
		{"json", `{"a": "b\"c", "n": -1.5e3, "t": null}`, `s:"a" s:"b\"c" s:"n" n:1.5e3 s:"t" k:null`},
		{"yaml", "a: don't # c\nb: yes", "c:# c k:yes"},
		{"rust", `fn f<'a>(x: &'a u8) { '"'; '\''; "s" }`, `k:fn k:u8 s:'"' s:'\'' s:"s"`},
		{"c", `char c = '"'; /* a`, `k:char s:'"' c:/* a`},
		{"diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z", "c:--- a c:+++ b c:@@ -1 +1 @@ t:-x s:+y"},
		{"go", "    12→x := 3", "n:3"},
		{"go", "// a\r\nx\r\n", "c:// a"},
		{"cobol", "if 1", ""},
	} {
		var got []string
		for _, m := range coloured.FindAllStringSubmatch(highlighted(t, test.code, test.name), -1) {
			got = append(got, m[1]+":"+html.UnescapeString(m[2]))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %q\n got %q\nwant %q", test.name, test.code, text, test.want)
		}
	}
}

var coloured = regexp.MustCompile(`(?s)<span class="([a-z])">(.*?)</span>`)

// Colours change no letter of the code, in any language.
func FuzzHighlight(f *testing.F) {
	f.Add("// a\r\n\"b\\\n'c\\' `d` /* e <f> & \x1b[31mg\x00 é→\xff ''' \"\"\" <!-- </span> $x 0x1.5e+3")
	f.Add("+a\n-b\n@@\n\n--- c")
	f.Add("it's f'x' 'y \\")
	f.Fuzz(func(t *testing.T, code string) {
		for _, name := range slices.Sorted(maps.Keys(languageMakers)) {
			page := highlighted(t, code, name)
			if got := html.UnescapeString(coloured.ReplaceAllString(page, "$2")); got != clean(code) {
				t.Fatalf("%s: %q became %q", name, code, got)
			}
		}
	})
}
