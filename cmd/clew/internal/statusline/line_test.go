package statusline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/settings"
	"github.com/clewdev/clew/usage"
)

// noon is the time of the tests. The recorded inputs are of that day.
var noon = time.Date(2026, 11, 17, 15, 45, 0, 0, time.UTC)

// knownFacts are facts of that time.
func knownFacts() *Facts { return Example(noon).Facts }

// recorded returns an input from the tests of package settings: two were written by Claude Code,
// and one has every member.
func recorded(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "settings", "testdata", "statusline", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lineInputs are inputs as the command gets them. Each has one golden file for all of its lines.
func lineInputs(t *testing.T) map[string]string {
	t.Helper()
	documented := recorded(t, "documented")
	limits := `{"model":{"display_name":"Opus 5.5"},"context_window":{"used_percentage":%v},"rate_limits":{"five_hour":{"used_percentage":%v,` +
		`"resets_at":%d},"seven_day":{"used_percentage":%v,"resets_at":%d}}}`
	in := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	return map[string]string{
		"before_answer":   recorded(t, "before_answer"),
		"after_answer":    recorded(t, "after_answer"),
		"documented":      documented,
		"empty":           "",
		"empty_object":    "{}",
		"not_json":        "{not json",
		"a_list":          "[1,2]",
		"cut":             documented[:len(documented)/2],
		"model_only":      `{"model":{"id":"claude-haiku-5-5"}}`,
		"unknown_fields":  `{"model":{"display_name":"Opus 5.5","new":{"x":[1]}},"future":{"a":1},"cost":{"total_cost_usd":2,"total_cost_eur":1}}`,
		"wrong_types":     `{"model":{"display_name":"Opus 5.5"},"cost":{"total_cost_usd":"much"},"context_window":{"used_percentage":[42]},"effort":"high","rate_limits":7}`,
		"nulls":           `{"model":{"display_name":null},"cost":null,"context_window":{"used_percentage":null},"rate_limits":{"five_hour":null},"prompt_cache":null}`,
		"escapes":         `{"model":{"display_name":"\u001b[31mOpus\u001b]0;title\u0007\u001b[2J\r\n5.5\u009b1A"},"session_name":"a\u202eb\u200bc","effort":{"level":"\u001b]8;;http://x\u0007hi"},"vim":{"mode":"\u0000\u007f"}}`,
		"many_lines":      `{"model":{"display_name":"Opus\n\n\t5.5\u2028x"},"agent":{"name":"one\ntwo"}}`,
		"long_names":      `{"model":{"display_name":"` + strings.Repeat("Opus ", 4000) + `"},"session_name":"` + strings.Repeat("n", 300) + `"}`,
		"wide":            `{"model":{"display_name":"作品五号"},"effort":{"level":"高い"},"session_name":"👩‍👩‍👧‍👧 家族 é","cost":{"total_cost_usd":12.5},"context_window":{"used_percentage":50}}`,
		"bad_utf8":        "{\"model\":{\"display_name\":\"Opus \xff\xfe 5.5\"},\"session_name\":\"\\ud83d\"}",
		"huge_numbers":    `{"model":{"display_name":"Opus 5.5"},"cost":{"total_cost_usd":1e300,"total_duration_ms":9223372036854775807,"total_lines_added":9007199254740993,"total_lines_removed":1},"context_window":{"used_percentage":1e15},"rate_limits":{"five_hour":{"used_percentage":100000,"resets_at":9223372036854775807},"seven_day":{"used_percentage":3,"resets_at":253402300799}}}`,
		"overflow":        `{"model":{"display_name":"Opus 5.5"},"cost":{"total_cost_usd":1e999,"total_lines_added":1e30},"rate_limits":{"five_hour":{"used_percentage":3,"resets_at":1.5}}}`,
		"negative":        `{"model":{"display_name":"Opus 5.5"},"cost":{"total_cost_usd":-3,"total_duration_ms":-1,"total_lines_added":-2,"total_lines_removed":5},"context_window":{"used_percentage":-1},"rate_limits":{"five_hour":{"used_percentage":-5,"resets_at":-7}},"prompt_cache":{"caching_observed":true,"warm":true,"hit_ratio":-1},"pr":{"number":-4}}`,
		"limits_low":      fmt.Sprintf(limits, 0, 0, in(time.Second), 74.4, in(7*24*time.Hour)),
		"limits_high":     fmt.Sprintf(limits, 75, 89.4, in(time.Hour), 90, in(24*time.Hour)),
		"limits_over":     fmt.Sprintf(limits, 100, 100, in(59*time.Minute+time.Second), 99.6, in(25*time.Hour+30*time.Minute)),
		"limits_passed":   fmt.Sprintf(limits, 12, 50, in(-time.Second), 60, in(0)),
		"limits_no_reset": `{"rate_limits":{"five_hour":{"used_percentage":5},"seven_day":{"resets_at":1794938280}}}`,
		"gateway":         `{"model":{"display_name":"Sonnet 5"},"rate_limits":{"spend_limit":{"used_percentage":61.5,"resets_at":1795203900,"used_usd":61.5,"limit_usd":100,"period":"monthly"}}}`,
		"cache_cold":      `{"model":{"display_name":"Opus 5.5"},"prompt_cache":{"warm":false,"caching_observed":true,"hit_ratio":0.5}}`,
		"cache_unknown":   `{"model":{"display_name":"Opus 5.5"},"prompt_cache":{"warm":false,"caching_observed":false}}`,
		"merge_request":   `{"model":{"display_name":"Opus 5.5"},"pr":{"number":7,"kind":"mr","review_state":"changes_requested"},"agent_type":"reviewer"}`,
	}
}

// allFormat has every value.
var allFormat = "{" + strings.Join(names, "} | {") + "}"

func viewOf(input string) *View {
	v := &View{Now: noon}
	s, err := settings.DecodeStatusLineInput([]byte(input))
	if err != nil {
		v.Problem = "invalid input"
		return v
	}
	v.Input = *s
	return v
}

func parsed(t *testing.T, text string) *Format {
	t.Helper()
	f, err := ParseFormat(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLineGoldens(t *testing.T) {
	t.Parallel()
	usual, all := parsed(t, DefaultFormat), parsed(t, allFormat)
	for name, input := range lineInputs(t) {
		v := viewOf(input)
		var b strings.Builder
		for _, width := range []int{200, 76, 36, 12} {
			fmt.Fprintf(&b, "%d: %s\n", width, usual.Line(v, width, false))
		}
		v.Facts, v.Branch = knownFacts(), "feature/status-line"
		for _, width := range []int{200, 76, 36, 12} {
			fmt.Fprintf(&b, "with costs, %d: %s\n", width, usual.Line(v, width, false))
		}
		fmt.Fprintf(&b, "color: %s\nall: %s\n", usual.Line(v, 76, true), all.Line(v, 400, false))
		golden.Check(t, "lines/"+name, b.String())
	}
}

// A line has one line, fits, has no escape sequence without color, and is never empty.
func TestLineFits(t *testing.T) {
	t.Parallel()
	formats := []*Format{
		parsed(t, DefaultFormat), parsed(t, allFormat), parsed(t, "{model}"), parsed(t, "[{model}] 家 {branch}{5h} end"), parsed(t, "only text"),
	}
	for name, input := range lineInputs(t) {
		v := viewOf(input)
		v.Facts, v.Branch = knownFacts(), "a\x1b[31m\nb"
		for _, f := range formats {
			for _, width := range soak.Widths(1) {
				line := f.Line(v, width, false)
				if line == "" || tty.Width(line) > max(width, 2) || tty.Line(line) != strings.TrimSpace(line) || !utf8.ValidString(line) {
					t.Fatalf("%s at %d: %q", name, width, line)
				}
				painted := f.Line(v, width, true)
				if tty.PaintedWidth(painted) != tty.Width(line) {
					t.Fatalf("%s at %d: %q and %q", name, width, line, painted)
				}
			}
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	all := Example(noon)
	none := &View{Now: noon, Branch: "main"}
	some := &View{Now: noon, Branch: "main", Input: settings.StatusLineInput{Model: settings.StatusModel{DisplayName: "Opus"}}}
	tests := []struct {
		format string
		view   *View
		want   string
	}{
		{DefaultFormat, all, "Opus 5.5 high · 42 % context · 5h 23 % 2h14m · 7d 71 % 3d4h · $1.23 · $8.40 today · main · $3.90 block · cache 93 %"},
		{"{model} {context} {5h} {today}", all, "Opus 5.5 42 % context 5h 23 % 2h14m $8.40 today"},
		{"{project} {dir} {name} {lines} {time} {pr} {version}", all, "$3.10 in shop shop limits +120 -33 1h30m PR #12 approved 2.1.325"},
		{"{model} | {context} | {branch}", some, "Opus | main"},
		{"{context} | {model} | {5h} | {branch} | {7d}", some, "Opus | main"},
		{"[{model}] ({context}) <{branch}>", some, "[Opus] <main>"},
		{"> {model} <", some, "> Opus <"},
		{"> {5h} {model} {7d} <", some, "Opus"},
		{"on {branch} with {context}", none, "on main"},
		{"{model}{branch}", none, "Claude Code"},
		{"{5h}", none, "Claude Code"},
		{"no values", none, "no values"},
		{"{model {branch} } {", none, "{model main } {"},
		{"\x1b[31m{branch}\u202e", none, `\x1b[31mmain\u202e`},
	}
	for _, tt := range tests {
		if got := parsed(t, tt.format).Line(tt.view, 200, false); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.format, got, tt.want)
		}
	}
}

// The least important values go first, whatever their place.
func TestLineLeavesOut(t *testing.T) {
	t.Parallel()
	f := parsed(t, DefaultFormat)
	for width, want := range map[int]string{
		110: "Opus 5.5 high · 42 % context · 5h 23 % 2h14m · 7d 71 % 3d4h · $1.23 · $8.40 today · main · $3.90 block",
		84:  "Opus 5.5 · 42 % context · 5h 23 % 2h14m · 7d 71 % 3d4h · $1.23 · $8.40 today · main",
		76:  "Opus 5.5 · 42 % context · 5h 23 % 2h14m · 7d 71 % 3d4h · $1.23 · $8.40 today",
		40:  "Opus 5.5 · 42 % context · 5h 23 % 2h14m",
		20:  "Opus 5.5",
		5:   "Opus…",
	} {
		if got := f.Line(Example(noon), width, false); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	t.Parallel()
	f, err := ParseFormat("{model} {modl} {x}")
	if err == nil || !strings.Contains(err.Error(), "{modl}, {x}") || !strings.Contains(err.Error(), "{model}, {effort}") {
		t.Error(err)
	}
	if got := f.Line(Example(noon), 80, false); got != "Opus 5.5 {modl} {x}" {
		t.Errorf("%q", got)
	}
	if f, err := ParseFormat("  "); err == nil || f.Line(Example(noon), 80, false) != nothing {
		t.Error(err)
	}
	for _, name := range names {
		if values[name].text == nil || values[name].about == "" || values[name].importance <= 0 {
			t.Errorf("%s is not complete", name)
		}
	}
	if len(values) != len(names) {
		t.Errorf("%d values, %d names", len(values), len(names))
	}
}

// Costs of another day, or of another block, are not shown.
func TestFactsExpire(t *testing.T) {
	t.Parallel()
	f := parsed(t, "{model} {today} {project} {block}")
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, "Opus 5.5 $8.40 today $3.10 in shop $3.90 block"},
		{3 * time.Hour, "Opus 5.5 $8.40 today $3.10 in shop"},
		{9 * time.Hour, "Opus 5.5"},
		{-4 * time.Hour, "Opus 5.5 $8.40 today $3.10 in shop"},
	} {
		v := Example(noon)
		v.Now = noon.Add(tt.after)
		if got := f.Line(v, 80, false); got != tt.want {
			t.Errorf("%v later: %q, want %q", tt.after, got, tt.want)
		}
	}
	v := Example(noon)
	v.Facts.Today, v.Facts.Projects = Amount{5 * usage.Dollar, true}, nil
	if got := f.Line(v, 80, false); got != "Opus 5.5 ≥ $5.00 today $0.00 in shop $3.90 block" {
		t.Errorf("%q", got)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain/.git/HEAD", "ref: refs/heads/feature/x\n")
	write("plain/src/deep/file", "")
	write("detached/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("linked/.git", "gitdir: ../plain/.git/worktrees/linked\n")
	write("plain/.git/worktrees/linked/HEAD", "ref: refs/heads/other\n")
	write("absolute/.git", "gitdir: "+filepath.Join(root, "plain", ".git")+"\n")
	write("remote/.git/HEAD", "ref: refs/remotes/origin/main\n")
	write("reftable/.git/HEAD", "ref: refs/heads/.invalid\n")
	write("garbage/.git/HEAD", "\x00\x1b[2J")
	write("long/.git/HEAD", "ref: refs/heads/"+strings.Repeat("x", 100000))
	write("broken/.git", "not a link")
	write("gone/.git", "gitdir: /nowhere/at/all")
	if err := os.MkdirAll(filepath.Join(root, "none", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"plain": "feature/x", "plain/src/deep": "feature/x", "plain/src/gone": "feature/x", "detached": "0123456", "linked": "other",
		"absolute": "feature/x", "remote": "remotes/origin/main", "reftable": "", "garbage": "", "broken": "", "gone": "", "none": "",
	} {
		if got := Branch(filepath.Join(root, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Branch(filepath.Join(root, "long")); len(got) > maxHead {
		t.Errorf("%d bytes", len(got))
	}
	if Branch("") != "" || Branch("relative") != "" {
		t.Error("a path that is not absolute has a branch")
	}
}

// The working directory is the workspace's or, for older agents, the one beside it.
func TestDir(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"workspace":{"current_dir":"/a"},"cwd":"/b"}`: "/a",
		`{"cwd":"/b"}`:                  "/b",
		`{"workspace":{},"cwd":"/b"}`:   "/b",
		`{"model":{"id":"claude-o-1"}}`: "",
	} {
		in, err := settings.DecodeStatusLineInput([]byte(input))
		if err != nil {
			t.Fatal(err)
		}
		if got := (&View{Input: *in}).Dir(); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// Whatever the format and the input are, a line is as TestLineFits says.
func FuzzLine(f *testing.F) {
	f.Add(DefaultFormat, `{"model":{"display_name":"Opus 5.5"},"context_window":{"used_percentage":42}}`, "main", 80)
	f.Add("[{model}] 家 {branch}{5h} end {", `{"cwd":"/a\u001b[31m/b\n","cost":{"total_cost_usd":1e9}}`, "a\x1b[31m\nb", 3)
	f.Add("}{{}} {dir} {name}", "{not json", "\xff", 1)
	f.Fuzz(func(t *testing.T, format, input, branch string, width int) {
		width = min(max(width, 1), 500)
		parsed, _ := ParseFormat(format) // a wrong one has a line as well
		v := viewOf(input)
		v.Facts, v.Branch = knownFacts(), branch
		line := parsed.Line(v, width, false)
		if line == "" || tty.Width(line) > max(width, 2) || tty.Line(line) != strings.TrimSpace(line) || !utf8.ValidString(line) {
			t.Fatalf("%q at %d: %q", format, width, line)
		}
		if painted := parsed.Line(v, width, true); tty.PaintedWidth(painted) != tty.Width(line) {
			t.Fatalf("%q at %d: %q and %q", format, width, line, painted)
		}
	})
}
