package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/tty"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `says "hi" – naïve 日本`, `says "hi" – naïve 日本`},
		{"escape sequence", "\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"line breaks", "a\r\nb\tc\u2028d", `a\r\nb\tc\u2028d`},
		{"controls beyond ASCII", "\u009b31m\x7f", `\u009b31m\x7f`},
		{"text direction", "\u202eevil", `\u202eevil`},
		{"not UTF-8", "\xff\xfe", `\xff\xfe`},
		{"backslash before a quote", `\"`, `\"`},
		{"path of Windows", `C:\users\new`, `C:\users\new`},
		{"an escape that was typed", `\x1b[2J`, `\x1b[2J`},
		{"emoji of several parts", "⚠\ufe0f 👩\u200d💻", "⚠\ufe0f 👩\u200d💻"},
		{"a joiner between letters", "a\u200db", `a\u200db`},
		{"an unusual space", "a\u3000b", `a\u3000b`},
		{"a typed escape beside a real one", "\\x1b\x1b", `\\x1b\x1b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := printable(tt.in); got != tt.want {
				t.Errorf("printable(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestCutsLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, true},
		{map[string]string{"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)", "VTE_VERSION": "7600"}, false},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, false},
		{map[string]string{"TERM": "xterm", "STY": "1.pts"}, true},
		{map[string]string{"TERM": "linux"}, true},
		{map[string]string{"TERM": "st-256color"}, true},
		{nil, false},
	} {
		if got := cutsLines(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %t, want %t", tt.env, got, tt.want)
		}
	}
}

func TestWordsWrapped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		begun   int
		columns int
		want    string
	}{
		{"no project matches shop", 10, 80, "no project matches shop"},
		{"no project matches shop", 10, 20, "no project\nmatches shop"},
		{"cannot write /a/long/path/of/a/file.html: why", 0, 12, "cannot write\n/a/long/path/of/a/file.html:\nwhy"},
		{"Give one of them:\n  /home/dev/api\n  /srv/api", 5, 12, "Give\none of them:\n  /home/dev/api\n  /srv/api"},
		{"日本 日本", 0, 8, "日本\n日本"},
		{"", 4, 8, ""},
		{"skipped lines", 12, 13, "\nskipped lines"},
	}
	for _, tt := range tests {
		if got := wordsWrapped(tt.text, tt.begun, tt.columns); got != tt.want {
			t.Errorf("wordsWrapped(%q, %d, %d) = %q, want %q", tt.text, tt.begun, tt.columns, got, tt.want)
		}
	}
}

func TestKnowsLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terminal, program string
		want              bool
	}{
		{"xterm-256color", "iTerm.app", true}, {"xterm-256color", "", true}, {"tmux-256color", "tmux", true},
		{"xterm-256color", "Apple_Terminal", false}, {"linux", "", false}, {"screen-256color", "tmux", false},
	} {
		if got := knowsLinks(tt.terminal, tt.program); got != tt.want {
			t.Errorf("knowsLinks(%q, %q) = %t", tt.terminal, tt.program, got)
		}
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	for amount, want := range map[float64]string{0: "$0.00", 0.001: "<$0.01", 0.006: "$0.01", 12.345: "$12.35"} {
		if got := dollars(amount); got != want {
			t.Errorf("dollars(%g) = %s, want %s", amount, got, want)
		}
	}
}

// The first of the flag, the setting and the variables that says something decides about color,
// whatever the later ones say.
func TestDecideColor(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	steps := []struct {
		name   string
		values map[string]*bool // nil: the next one decides
	}{
		{"--color", map[string]*bool{"always": &yes, "never": &no, "auto": nil, "": nil}},
		{"CLEW_COLOR", map[string]*bool{"always": &yes, "never": &no, "auto": nil, "": nil}},
		{"NO_COLOR", map[string]*bool{"1": &no, "0": &no, "": nil}},
		{"CLICOLOR_FORCE", map[string]*bool{"1": &yes, "0": nil, "": nil}},
		{"FORCE_COLOR", map[string]*bool{"3": &yes, "0": nil, "": nil}},
		{"CLICOLOR", map[string]*bool{"0": &no, "1": nil, "": nil}},
		{"TERM", map[string]*bool{"dumb": &no, "xterm": nil, "": nil}},
		{"a terminal", map[string]*bool{"yes": &yes, "": &no}},
	}
	given := map[string]string{}
	tried := 0
	var try func(step int, want *bool)
	try = func(step int, want *bool) {
		if step == len(steps) {
			tried++
			flag := colorFlag(given["--color"])
			if flag == "auto" && given["CLEW_COLOR"] != "" {
				return // the flag replaces the setting, see below
			}
			got, _ := decideColor(flag, func(name string) string { return given[name] }, given["a terminal"] != "")
			if got != *want {
				t.Errorf("%v: color is %v", given, got)
			}
			return
		}
		for value, decision := range steps[step].values {
			given[steps[step].name] = value
			if want != nil {
				decision = want
			}
			try(step+1, decision)
		}
	}
	try(0, nil)
	if tried != 4*4*3*3*3*3*3*2 {
		t.Errorf("%d combinations", tried)
	}
	setting := func(name string) string { return map[string]string{"CLEW_COLOR": "always"}[name] }
	if got, by := decideColor("auto", setting, false); got || by != "" {
		t.Errorf("--color auto and CLEW_COLOR=always: color is %v, from %q", got, by)
	}
}

func TestClip(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"short", "short", "short"},
		{"just fits", strings.Repeat("a", maxText), strings.Repeat("a", maxText)},
		{"long", strings.Repeat("a", maxText+1), strings.Repeat("a", maxText) + "…"},
		{"whole characters", strings.Repeat("a", maxText-1) + "ßß", strings.Repeat("a", maxText-1) + "…"},
		{"not UTF-8", strings.Repeat("\x80", 2*maxText), strings.Repeat("\x80", maxText-utf8.UTFMax) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := clip(tt.in); got != tt.want {
				t.Errorf("clip = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEscapeLine(t *testing.T) {
	in := map[string]string{"a": "\u009b31m\x7f\u202e\U000e0001 ß 😀\x1b"}
	line, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := escapeLine(append(line, '\n'))
	if want := `{"a":"\u009b31m\u007f\u202e\udb40\udc01 ß 😀\u001b"}` + "\n"; string(got) != want {
		t.Errorf("escapeLine = %s, want %s", got, want)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["a"] != in["a"] {
		t.Errorf("the line reads %q, %v; want %q", back, err, in)
	}
}

// A step is a read of so many bytes, so long after the one before.
type step struct {
	after time.Duration
	bytes int
}

// draw returns what a progress writes, split before each redraw.
func draw(total int64, width int, steps []step) []string {
	var screen strings.Builder
	now := time.Unix(0, 0)
	p := newProgress(&screen, total, func() time.Time { return now })
	p.width = width
	read := int64(0)
	for _, s := range steps {
		now = now.Add(s.after)
		read += int64(s.bytes)
		p.set(read)
	}
	p.clear()
	return strings.Split(screen.String(), clearLine)[1:]
}

func TestProgress(t *testing.T) {
	tests := []struct {
		name  string
		total int64
		width int
		steps []step
		want  []string
	}{
		{
			"a file", 400e6, 80,
			[]step{{time.Second, 100e6}, {time.Second, 100e6}, {2 * time.Second, 200e6}},
			[]string{
				"[#####---------------]  25%  100 MB of 400 MB  100 MB/s  3s left",
				"[##########----------]  50%  200 MB of 400 MB  100 MB/s  2s left",
				"[####################] 100%  400 MB of 400 MB  100 MB/s",
				"",
			},
		},
		{
			"a file that grows", 10, 80,
			[]step{{time.Second, 20}},
			[]string{"[####################] 100%  20 B of 10 B  20 B/s", ""},
		},
		{
			"a pipe", -1, 80,
			[]step{{time.Second, 5e6}, {time.Second, 1e6}},
			[]string{"5.0 MB  5.0 MB/s", "6.0 MB  3.0 MB/s", ""},
		},
		{
			"no room for the speed", 400e6, 48,
			[]step{{time.Second, 100e6}},
			[]string{"[#####---------------]  25%  100 MB of 400 MB", ""},
		},
		{
			"a narrow terminal", 400e6, 20,
			[]step{{time.Second, 100e6}},
			[]string{"[#####-------------", ""},
		},
		{
			"nothing read yet", 400e6, 80,
			[]step{{time.Second, 0}},
			[]string{"[--------------------]   0%  0 B of 400 MB  0 B/s", ""},
		},
		{
			"done before there was anything to see", 400e6, 80,
			[]step{{50 * time.Millisecond, 400e6}},
			[]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, draw(tt.total, tt.width, tt.steps)); diff != "" {
				t.Errorf("drawn (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressRedrawInterval(t *testing.T) {
	var steps []step
	for range 1000 {
		steps = append(steps, step{time.Millisecond, 1})
	}
	if got := len(draw(1000, 80, steps)); got != 11 {
		t.Errorf("%d redraws within a second, want 10 and the clearing", got)
	}
}

func TestProgressNil(*testing.T) {
	var p *progress
	p.set(1)
	p.clear()
}

// A sharedText is written by one goroutine and read by another.
type sharedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sharedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Work that takes longer than a second is named, step by step, and leaves nothing on the screen.
func TestActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var screen sharedText
		a := newActivity(&screen, "reading 57 MB")
		time.Sleep(900 * time.Millisecond)
		a.now("reading 57 MB still")
		synctest.Wait()
		if text := screen.String(); text != "" {
			t.Errorf("early: %q", text)
		}
		time.Sleep(1200 * time.Millisecond)
		a.now("writing x.html")
		a.hide()
		time.Sleep(time.Second)
		a.end()
		a.end()
		want := []string{
			"", "reading 57 MB still, 1 s", "reading 57 MB still, 2 s", "writing x.html, 2 s", "", "writing x.html, 3 s", "",
		}
		if diff := cmp.Diff(want, strings.Split(screen.String(), clearLine)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	var none *activity
	none.now("x")
	none.hide()
	none.end()
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns int
		want    []string
	}{
		{"any width", 0, []string{
			"NAME                COUNT  WHY",
			"你好                    7  a reason of some words",
			"a-name-of-some-use  1,000",
		}},
		{"texts are broken", 36, []string{
			"NAME                COUNT  WHY",
			"你好                    7  a reason",
			"                           of some",
			"                           words",
			"a-name-of-some-use  1,000",
		}},
		{"lists", 20, []string{
			"你好",
			"  COUNT  7",
			"  WHY    a reason of",
			"         some words",
			"a-name-of-some-use",
			"  COUNT  1,000",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := newTable("NAME", "COUNT>", "WHY")
			table.add("你好", "7", "a reason of some words")
			table.add("a-name-of-some-use", "1,000", "")
			var b strings.Builder
			table.print(&b, tt.columns)
			if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Cells are painted without the space around them, in each layout.
func TestTablePaints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns int
		want    string
	}{
		{"a table", 0, "<1>NAME<0>  <1>COUNT<0>\nab        <2>0<0>\n"},
		{"a list", 8, "ab\n  <2>C…<0>  <2>0<0>\n"},
		{"a column", 4, "ab\n<2>0<0>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := newTable("NAME", "COUNT>")
			table.color = true
			table.add("ab", "0")
			table.style(tty.Plain, tty.Dim)
			var b strings.Builder
			table.print(&b, tt.columns)
			got := regexp.MustCompile("\x1b\\[([0-9]+)m").ReplaceAllString(b.String(), "<$1>")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
