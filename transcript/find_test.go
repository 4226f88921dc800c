package transcript

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needles returns a session with a subagent, a branch, and an agent that nothing started.
// Each of its texts has the word needle once.
func needles() *Transcript {
	agent := &Agent{ID: "a1", Transcript: &Transcript{Chunks: []Chunk{{Type: UserChunk, Text: "the agent's Needle"}}}}
	lost := &Agent{ID: "a2", Transcript: &Transcript{Chunks: []Chunk{{Type: UserChunk, Text: "a lost needle"}}}}
	return &Transcript{
		Chunks: []Chunk{
			{Type: UserChunk, Text: "find the needle"},
			{Type: AIChunk, Text: "a needle, written again", Items: []DisplayItem{
				{Type: ItemThinking, Text: "Needle?"},
				{Type: ItemOutput, Text: "a needle, written again"},
				{
					Type: ItemSubagent, ToolName: "NeedleTask", ToolInput: `{"needle":{"a":["x\nneed\u006ce"]},"n":7}`,
					ToolResult: "one NEEDLE", Structured: `{"needle":1}`, Injected: []string{"needle"}, Agents: []*Agent{agent},
				},
				{Type: ItemToolCall, ToolName: "Bash", ToolInput: `{broken needle`},
				{Type: ItemOutput, ToolID: "t", Text: "needle of no call"},
				{Type: ItemTeammateMessage, Text: "needle from red"},
			}},
			{Type: SystemChunk, Text: "out: needle", Stderr: "err: needle"},
			{Type: CompactChunk, Text: "needle in short"},
			{Type: AIChunk, Text: "no items, a needle"},
		},
		Branches: []Branch{{Chunks: []Chunk{{Type: UserChunk, Text: "needle, left behind"}}}},
		Unlinked: []*Agent{lost},
	}
}

func foundIn(t *Transcript, m Matcher) []string {
	var got []string
	for f := range t.Find(m) {
		agent, branch := "", ""
		if f.Agent != nil {
			agent = f.Agent.ID + " "
		}
		if f.Branch != nil {
			branch = "branch "
		}
		if (f.Item == nil) != (f.ItemIndex < 0) || f.Item != nil && f.Item != &f.Chunk.Items[f.ItemIndex] {
			got = append(got, fmt.Sprintf("item %p is not the one at %d", f.Item, f.ItemIndex))
		}
		got = append(got, fmt.Sprintf("%s%s%d.%d %s: %s[%s]%s", agent, branch, f.ChunkIndex, f.ItemIndex, f.Field,
			f.Text[:f.From], f.Text[f.From:f.To], f.Text[f.To:]))
	}
	return got
}

func TestFind(t *testing.T) {
	t.Parallel()
	want := []string{
		"0.-1 prompt: find the [needle]",
		"1.0 thinking: [Needle]?",
		"1.1 text: a [needle], written again",
		"1.2 tool: [Needle]Task",
		"1.2 input: x\n[needle]",
		"1.2 result: one [NEEDLE]",
		"a1 0.-1 prompt: the agent's [Needle]",
		"1.3 input: {broken [needle]",
		"1.4 result: [needle] of no call",
		"1.5 text: [needle] from red",
		"2.-1 notice: out: [needle]",
		"2.-1 notice: err: [needle]",
		"3.-1 notice: [needle] in short",
		"4.-1 text: no items, a [needle]",
		"branch 0.-1 prompt: [needle], left behind",
		"a2 0.-1 prompt: a lost [needle]",
	}
	for name, m := range map[string]Matcher{
		"ignoring case": IgnoreCase("nEEdle"), "regular expression": regexp.MustCompile(`(?i)needle|z*`),
	} {
		if diff := cmp.Diff(want, foundIn(needles(), m)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, m := range []Matcher{IgnoreCase(""), IgnoreCase("noodle"), regexp.MustCompile("z*")} {
		if got := foundIn(needles(), m); got != nil {
			t.Errorf("%v: got %q", m, got)
		}
	}
	for n := range want {
		left := 0
		for range needles().Find(IgnoreCase("needle")) {
			if left++; left > n {
				break
			}
		}
		if left != n+1 {
			t.Errorf("left after %d of %d", left, n+1)
		}
	}
}

// A text may have more matches than are asked for at once.
func TestFindMany(t *testing.T) {
	t.Parallel()
	tr := &Transcript{Chunks: []Chunk{{Text: strings.Repeat("ab", 10_000)}}}
	for _, m := range []Matcher{IgnoreCase("A"), regexp.MustCompile("a")} {
		next := 0
		for f := range tr.Find(m) {
			if f.From != next || f.To != next+1 {
				t.Fatalf("%v: got %d to %d, want %d", m, f.From, f.To, next)
			}
			next += 2
		}
		if next != 20_000 {
			t.Errorf("%v: the last is at %d", m, next)
		}
	}
}

func TestFieldText(t *testing.T) {
	t.Parallel()
	for f := FieldPrompt; f <= FieldNotice; f++ {
		text, err := f.MarshalText()
		var again Field
		if err != nil || again.UnmarshalText(text) != nil || again != f || f.String() != string(text) {
			t.Errorf("%d: %q, %v, %d", int(f), text, err, again)
		}
	}
	if _, err := Field(99).MarshalText(); err == nil || Field(99).String() != "Field(99)" {
		t.Errorf("%v, %v", Field(99), err)
	}
}

// IgnoreCase finds what a regular expression that ignores case finds.
func FuzzIgnoreCase(f *testing.F) {
	for _, seed := range [][2]string{
		{"a Needle, a needle", "needle"}, {"aaaa", "AA"}, {"Kelvin \u212a, kilo", "k"}, {"\u017ftra\u00dfe", "STRA"},
		{"\u00dcBER \u00fcber", "\u00fcber"}, {"\u0416\u0436", "\u0436"}, {"x\xff\xfe", "x"}, {"\u4e2d\u6587", "\u6587"},
		{"abcabcabd", "abcabd"}, {"", "x"}, {"tt", "t"}, {"\u01c4\u01c5\u01c6", "\u01c5"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, part string) {
		if part == "" || strings.ToValidUTF8(part, "") != part || strings.ToValidUTF8(text, "") != text {
			return
		}
		m := IgnoreCase(part)
		want := regexp.MustCompile("(?i)"+regexp.QuoteMeta(part)).FindAllStringIndex(text, -1)
		if diff := cmp.Diff(want, m.FindAllStringIndex(text, -1)); diff != "" {
			t.Errorf("%q in %q (-regexp +got):\n%s", part, text, diff)
		}
		if got := m.FindAllStringIndex(text, 1); !slices.EqualFunc(got, want[:min(1, len(want))], slices.Equal) {
			t.Errorf("the first of %q in %q: got %v", part, text, got)
		}
	})
}

// BenchmarkFind looks through 57 MB of results for a word that is in none of them.
func BenchmarkFind(b *testing.B) {
	const size = 57 << 20
	result := strings.Repeat("ok  \tgithub.com/clewdev/clew/wire\t0.5s, and the Rest of the output\n", 800)
	tr := new(Transcript)
	for n := 0; n < size; n += len(result) {
		tr.Chunks = append(tr.Chunks, Chunk{Type: AIChunk, Items: []DisplayItem{{
			Type: ItemToolCall, ToolName: "Bash", ToolInput: `{"command":"go test ./..."}`, ToolResult: result,
		}}})
	}
	for name, m := range map[string]Matcher{
		"rare": IgnoreCase("Zebra"), "common": IgnoreCase("teeth"), "regexp": regexp.MustCompile("teeth"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				for f := range tr.Find(m) {
					b.Fatalf("found %+v", f)
				}
			}
		})
	}
}
