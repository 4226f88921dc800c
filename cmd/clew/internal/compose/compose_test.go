package compose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/tty"
)

// keyNames maps the key names in the test scripts to codes.
var keyNames = map[string]Code{
	"enter": Enter, "newline": Newline, "tab": Tab, "bs": Backspace, "del": Delete, "left": Left, "right": Right,
	"wleft": WordLeft, "wright": WordRight, "up": Up, "down": Down, "home": Home, "end": End, "start": Start,
	"finish": Finish, "killend": KillEnd, "killstart": KillStart, "killword": KillWord, "killwleft": KillWordLeft,
	"killwright": KillWordRight, "yank": Yank, "swap": Transpose, "undo": Undo, "redo": Redo, "search": Search, "esc": Escape,
}

// keysOf returns a script's keys: characters, and names in angle brackets.
func keysOf(script string) []Key {
	var keys []Key
	for script != "" {
		if name, rest, ok := strings.Cut(script[1:], ">"); ok && script[0] == '<' {
			code, known := keyNames[name]
			if !known {
				panic(name)
			}
			keys = append(keys, Key{Code: code})
			script = rest
			continue
		}
		_, size := utf8.DecodeRuneInString(script)
		keys = append(keys, Key{Text: script[:size]})
		script = script[size:]
	}
	return keys
}

func press(e *Editor, script string) (last Event) {
	for _, k := range keysOf(script) {
		last = e.Press(k)
	}
	return last
}

// shown returns an editor with a bar at the cursor.
func shown(e *Editor, width, rows int) string {
	lines, x, y := e.Lines(width, rows)
	for i, line := range lines {
		if i == y {
			head := tty.Cut(line, x)
			lines[i] = head + "|" + line[len(head):]
		}
	}
	return strings.Join(lines, "\n")
}

func TestEditor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, want string }{
		{"types", "hello", "hello|"},
		{"moves by character", "abc<left><left>x<right>y", "axby|c"},
		{"moves by word", "one, two-three<wleft>x<wleft><wleft>y<wright>z", "one, ytwoz|-xthree"},
		{"erases", "abcd<bs><left><left><del>", "a|c"},
		{"keeps accents together", "ae\u0301<left>x<right><bs>", "ax|"},
		{"line breaks", "a<newline>b\\<enter>c", "a\nb\nc|"},
		{"a backslash inside", `a\b<left><enter>c`, "a\nc|b"},
		{"lines", "one<newline>two<home>x<start>y<end>z<finish>!", "yonez\nxtwo!|"},
		{"kills and yanks", "one two<killword>three <yank><home><killend><yank><yank>", "one three twoone three two|"},
		{"kills words", "go test ./upload/file.go<killwleft><killwleft><start><killwright>", "| test ./upload/"},
		{"kills a line break", "a<newline>b<up><killend>", "a|b"},
		{"kills to the start", "ab<newline>cd<left><killstart>", "ab\n|d"},
		{"swaps", "abc<swap><left><left><swap>", "ca|b"},
		{"undoes", "one two<undo>", "one|"},
		{"undoes and redoes", "one two<undo><undo><undo><redo>", "one|"},
		{"undoes a kill", "one two<killstart><undo>", "one two|"},
		{"undoes erasing at once", "one<bs><bs><undo>", "one|"},
		{"moves by rows", "aaaa bbbb cccc<up><up>x", "aaaax|\nbbbb\ncccc"},
		{"keeps its column", "abcd<newline>e<newline>fghi<up><up>x", "abcdx|\ne\nfghi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var e Editor
			width := 80
			if strings.Contains(tt.name, "rows") {
				width = 6
			}
			e.Lines(width, 10)
			press(&e, tt.script)
			got := strings.ReplaceAll(shown(&e, width, 10), " \n", "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]Event{"<enter>": Edited, "  <enter>": Edited, "hi<enter>": Submitted, `hi\<enter>`: Edited} {
		var e Editor
		if got := press(&e, script); got != want {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}

// A long paste is one character, and is complete when it is sent.
func TestPaste(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line \x1b[2J of text\r\n", 12000)
	var e Editor
	press(&e, "see: ")
	e.Press(Key{Code: Paste, Text: long})
	press(&e, " ok?")
	if got := shown(&e, 80, 5); got != "see: [pasted 12,000 lines] ok?|" {
		t.Errorf("it shows %q", got)
	}
	if got, want := e.Text(), "see: "+strings.ReplaceAll(long, "\r\n", "\n")+" ok?"; got != want {
		t.Errorf("the text has %d bytes, want %d", len(got), len(want))
	}
	press(&e, "<left><left><left><left><bs>")
	if got := e.Text(); got != "see:  ok?" {
		t.Errorf("without the paste: %q", got)
	}
	press(&e, "<undo>")
	if len(e.Text()) < 12000 {
		t.Error("the paste is lost")
	}
	e.Reset()
	e.Press(Key{Code: Paste, Text: "a\rb\x1b[31m"})
	if got := shown(&e, 80, 5); got != "a\nb\\x1b[31m|" {
		t.Errorf("a short paste is shown as %q", got)
	}
	e.Reset()
	e.Press(Key{Code: Paste, Text: strings.Repeat("x", 1<<20)})
	if got := shown(&e, 80, 5); got != "[pasted 1,048,576 characters]|" {
		t.Errorf("it shows %q", got)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	h := NewHistory([]string{"first", "go test", "two\nlines"})
	for script, want := range map[string]string{
		"<up>":                        "two\nlines|",
		"draft<up><up><up>":           "go test|",
		"draft<up><down>":             "draft|",
		"<up><up><up><up><up><up>":    "first|",
		"<search>TEST":                "go test|",
		"<search>i<search>":           "first|",
		"<search>i<search><search>":   "first|",
		"draft<search>go<esc>":        "draft|",
		"draft<search>go<enter>!":     "go test!|",
		"<search>go<left>x":           "go tesx|t",
		"<search>firsx<bs>":           "first|",
		"<search>go<enter><undo>":     "|",
		"<search>none of them<enter>": "two\nlines|",
	} {
		e := Editor{History: h}
		e.Lines(80, 10)
		press(&e, script)
		if got := shown(&e, 80, 10); got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
	if h.Add("two\nlines") || !h.Add("new") || h.Newest(1) != "new" {
		t.Error("Add is wrong")
	}
	if got := NewHistory(make([]string, 3*maxEntries)).Len(); got != maxEntries {
		t.Errorf("%d entries", got)
	}
}

func TestSearching(t *testing.T) {
	t.Parallel()
	e := Editor{History: NewHistory([]string{"one"})}
	press(&e, "<search>o\x1b")
	if got, want := e.Searching(), `no earlier prompt has: o\x1b`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	press(&e, "<bs>")
	if got, want := e.Searching(), `search earlier prompts: o`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	press(&e, "<enter>")
	if got := e.Searching(); got != "" || e.Text() != "one" {
		t.Errorf("%q after the search, %q", got, e.Text())
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]*Query{
		"/mo":          {Kind: CommandQuery, Word: "/mo"},
		"/model ":      {Kind: ArgumentQuery, Command: "/model", from: 7},
		"/model op":    {Kind: ArgumentQuery, Command: "/model", Word: "op", from: 7},
		"/model op x":  nil,
		"see @src/ma":  {Kind: FileQuery, Word: "src/ma", from: 4},
		"@":            {Kind: FileQuery},
		"me@example":   nil,
		" /model":      nil,
		"":             nil,
		"/mo<newline>": nil,
	} {
		var e Editor
		press(&e, script)
		got, ok := e.Query()
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %v", script, got, ok)
		}
	}
}

func TestMenu(t *testing.T) {
	t.Parallel()
	choices := []Choice{{Text: "/mode", Note: "the \x1b[2J mode"}, {Text: "/model"}, {Text: "/\x1b"}, {Text: "/exit", Complete: true}}
	open := func(typed string) *Editor {
		var e Editor
		press(&e, typed)
		q, _ := e.Query()
		e.Offer(q, choices)
		return &e
	}
	want := []string{"> /mode   the \\x1b[2J mode", "  /model", "  /exit"}
	if diff := cmp.Diff(want, open("/m").MenuLines(60, 10, false)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e := open("/m")
	press(e, "<down>")
	if diff := cmp.Diff([]string{"  /mode   the \\x1b[2J mode", "> /model"}, e.MenuLines(60, 2, false)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, tt := range []struct {
		typed, keys, want string
		event             Event
	}{
		{"/m", "<tab>", "/mode ", Edited},
		{"/m", "<down><tab>", "/model ", Edited},
		{"/m", "<up><enter>", "/exit", Submitted},
		{"/m", "<enter>", "/mode ", Edited},
		{"/model", "<enter>", "/model", Submitted},
		{"/m", "<esc><enter>", "/m", Submitted},
		{"/m", "x<enter>", "/mx", Submitted},
		{"/m", "<tab><undo>", "/m", Edited},
	} {
		e := open(tt.typed)
		if got := press(e, tt.keys); got != tt.event || e.Text() != tt.want {
			t.Errorf("%q %q: %q, %v", tt.typed, tt.keys, e.Text(), got)
		}
	}
	e = new(Editor)
	press(e, "see @ma and<wleft><left>")
	q, _ := e.Query()
	e.Offer(q, []Choice{{Text: "my main.go"}})
	if press(e, "<tab>"); e.Text() != `see @"my main.go"  and` {
		t.Errorf("the text is %q", e.Text())
	}
	press(e, "@x")
	e.Offer(q, []Choice{{Text: "late"}})
	if e.HasMenu() {
		t.Error("a late answer opens the menu")
	}
}

// checkShown checks that the visible text fits, and has the cursor inside.
func checkShown(t *testing.T, e *Editor, width, rows int) {
	t.Helper()
	lines, x, y := e.Lines(width, rows)
	if len(lines) < 1 || len(lines) > rows || y < 0 || y >= len(lines) || x < 0 || x >= max(width, 1) {
		t.Fatalf("%d columns, %d rows: the cursor is at %d, %d of %q", width, rows, x, y, lines)
	}
	if e.at < 0 || e.at > len(e.text) {
		t.Fatalf("the cursor is at %d of %d", e.at, len(e.text))
	}
	for _, line := range append(lines, e.MenuLines(width, rows, false)...) {
		if w := tty.Width(line); w > max(width, 1) {
			t.Fatalf("%d columns: %q has %d", width, line, w)
		}
		if line != tty.Clean(line) && !strings.ContainsRune(line, joiner) && !strings.ContainsFunc(line, func(r rune) bool { return r >= 0xfe00 }) {
			t.Fatalf("%q is not clean", line)
		}
	}
}

// randomKeys returns keys of all kinds.
func randomKeys(r *rand.Rand, n int) []Key {
	texts := []string{"a", "b", " ", "世", "e\u0301", "👩\u200d👧", "\t", "\x1b", "/", "@", "\u200d", "\u202e", "word", "\n"}
	keys := make([]Key, n)
	for i := range keys {
		if keys[i].Code = Code(r.IntN(int(Escape) + 12)); keys[i].Code > Escape {
			keys[i].Code = Insert
		}
		switch keys[i].Code {
		case Insert:
			keys[i].Text = texts[r.IntN(len(texts))]
		case Paste:
			keys[i].Text = strings.Repeat(texts[r.IntN(len(texts))]+"\r", r.IntN(20))
		}
	}
	return keys
}

// Whatever is typed, at every width, the cursor is inside and everything fits.
func TestWidths(t *testing.T) {
	t.Parallel()
	for width := 1; width <= 200; width++ {
		r := rand.New(rand.NewPCG(1, uint64(width)))
		e := Editor{History: NewHistory([]string{"one", "two\nthree", "世界 世界"})}
		for _, k := range randomKeys(r, 300) {
			e.Press(k)
			if q, ok := e.Query(); ok {
				e.Offer(q, []Choice{{Text: "/one", Note: "first"}, {Text: "世界/"}, {Text: "/three"}})
			}
			checkShown(t, &e, width, 1+r.IntN(8))
		}
	}
}

// Undo goes back to the start through earlier texts, and redo returns.
func TestUndo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(2, seed))
		var e Editor
		e.Lines(40, 10)
		were := map[string]bool{"": true}
		for _, k := range randomKeys(r, 200) {
			if k.Code != Undo && k.Code != Redo {
				e.Press(k)
			}
			were[e.Text()] = true
		}
		press(&e, "<esc>.")
		last := e.Text()
		were[last] = true
		steps := len(e.undo.past)
		for range steps {
			press(&e, "<undo>")
			if !were[e.Text()] {
				t.Fatalf("seed %d: %q was never there", seed, e.Text())
			}
		}
		if e.Text() != "" {
			t.Fatalf("seed %d: it goes back to %q", seed, e.Text())
		}
		for range steps {
			press(&e, "<redo>")
		}
		if e.Text() != last {
			t.Fatalf("seed %d: %q, want %q", seed, e.Text(), last)
		}
	}
}

// The rows of a text add up to the text.
func TestLinesComplete(t *testing.T) {
	t.Parallel()
	text := "The quick brown fox jumps over the lazy dog and runs away"
	for width := 1; width <= 80; width++ {
		var e Editor
		e.SetText(text)
		lines, _, _ := e.Lines(width, 1000)
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%d columns: %q", width, lines)
		}
	}
}

// Only the rows around the cursor are shown.
func TestLinesScroll(t *testing.T) {
	t.Parallel()
	var e Editor
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprint(i))
	}
	e.SetText(strings.Join(lines, "\n"))
	for _, step := range []struct{ keys, want string }{
		{"", "17\n18\n19|"}, {"<up><up>", "17|\n18\n19"}, {"<up>", "16|\n17\n18"}, {"<down>", "16\n17|\n18"}, {"<start>", "|0\n1\n2"},
	} {
		press(&e, step.keys)
		if got := shown(&e, 40, 3); got != step.want {
			t.Errorf("%q: %q, want %q", step.keys, got, step.want)
		}
	}
}

func FuzzEditor(f *testing.F) {
	f.Add([]byte("hello \x01\x02\x03 world"), "pasted", uint8(20))
	f.Add([]byte{1, 2, 3, 200, 201, 220}, "/x\ny", uint8(1))
	f.Fuzz(func(t *testing.T, codes []byte, text string, width uint8) {
		e := Editor{History: NewHistory([]string{text, "old"})}
		for i, c := range codes[:min(len(codes), 500)] {
			k := Key{Code: Code(c % 64)}
			if k.Code > Escape {
				k = Key{Text: text[i%(len(text)+1):]}
			}
			if k.Code == Paste {
				k.Text = text
			}
			e.Press(k)
			if !utf8.ValidString(e.Text()) {
				t.Fatalf("the text is %q", e.Text())
			}
			lines, x, y := e.Lines(int(width), 4)
			if y < 0 || y >= len(lines) || x < 0 || x >= max(int(width), 1) || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "\x1b") }) {
				t.Fatalf("the cursor is at %d, %d of %q", x, y, lines)
			}
		}
	})
}
