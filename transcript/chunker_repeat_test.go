package transcript

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// linesOfAnswer describes items in short, such as "thinking:Hmm" and "tool:t {}".
func linesOfAnswer(items []DisplayItem) []string {
	var lines []string
	for _, item := range items {
		if item.ToolID != "" {
			lines = append(lines, fmt.Sprintf("%v:%s %s%s", item.Type, item.ToolID, item.ToolInput, item.ToolResult))
			continue
		}
		lines = append(lines, fmt.Sprintf("%v:%s", item.Type, item.Text))
	}
	return lines
}

func TestLinesOfOneAnswer(t *testing.T) {
	t.Parallel()
	grown := ai(9, "m", thinking("Hmm"), text("I will look."))
	tests := []struct {
		name     string
		msgs     []ClassifiedMsg
		want     []string
		text     string
		thinking int
	}{
		{
			"a block each",
			[]ClassifiedMsg{
				ai(0, "m", thinking("Hmm")), ai(1, "m", text("I will")), ai(2, "m", toolUse("a", "Bash", `{}`)),
				ai(3, "m", toolUse("b", "Bash", `{}`)),
			},
			[]string{"thinking:Hmm", "output:I will", "tool:a {}", "tool:b {}"}, "I will", 1,
		},
		{
			"all blocks so far, with more text",
			[]ClassifiedMsg{
				ai(0, "m", thinking("H")), ai(1, "m", thinking("Hmm")), ai(2, "m", thinking("Hmm"), text("I")),
				ai(3, "m", thinking("Hmm"), text("I will")),
				ai(4, "m", thinking("Hmm"), text("I will"), toolUse("a", "Bash", `{}`)),
				ai(5, "m", thinking("Hmm"), text("I will"), toolUse("a", "Bash", `{"command":"ls"}`)),
			},
			[]string{"thinking:Hmm", "output:I will", `tool:a {"command":"ls"}`}, "I will", 1,
		},
		{
			"the last block again, with more text",
			[]ClassifiedMsg{ai(0, "m", thinking("Hmm")), ai(1, "m", text("I")), ai(2, "m", text("I will"))},
			[]string{"thinking:Hmm", "output:I will"}, "I will", 1,
		},
		{
			"an earlier block grows too",
			[]ClassifiedMsg{
				ai(0, "m", text("One"), text("Two")), ai(1, "m", text("One."), text("Two."), text("Three.")),
			},
			[]string{"output:One.", "output:Two.", "output:Three."}, "One.\nTwo.\nThree.", 0,
		},
		{
			"the same line twice",
			[]ClassifiedMsg{grown, grown},
			[]string{"thinking:Hmm", "output:I will look."}, "I will look.", 1,
		},
		{
			"with a result in between",
			[]ClassifiedMsg{
				ai(0, "m", toolUse("a", "Bash", `{}`)), meta(1, result("a", "x")),
				ai(2, "m", toolUse("a", "Bash", `{}`), toolUse("b", "Bash", `{}`)), meta(3, result("b", "y")),
			},
			[]string{"tool:a {}x", "tool:b {}y"}, "", 0,
		},
		{
			"a call again in a later chunk",
			[]ClassifiedMsg{
				ai(0, "m", toolUse("a", "Bash", `{}`)), user(1, "faster"),
				ai(2, "m", toolUse("a", "Bash", `{"x":1}`), text("ok")), meta(3, result("a", "y")),
			},
			[]string{`tool:a {"x":1}y`, "output:ok"}, "", 0,
		},
		{
			"a call again with less input",
			[]ClassifiedMsg{ai(0, "m", toolUse("a", "Bash", `{"x":1}`)), ai(2, "m", toolUse("a", "Bash", `{}`))},
			[]string{`tool:a {"x":1}`}, "", 0,
		},
		{
			"thinking that does not show is counted each time",
			[]ClassifiedMsg{ai(0, "m", thinking("")), ai(1, "m", thinking("")), ai(2, "m", text("Done."))},
			[]string{"thinking:", "thinking:", "output:Done."}, "Done.", 2,
		},
		{
			"thinking that does not show, then all blocks again",
			[]ClassifiedMsg{
				ai(0, "m", thinking("")), ai(1, "m", thinking(""), text("D")), ai(2, "m", thinking(""), text("Done.")),
			},
			[]string{"thinking:", "output:Done."}, "Done.", 1,
		},
		{
			"the same words in another answer are said again",
			[]ClassifiedMsg{ai(0, "m", text("Done.")), ai(1, "n", text("Done."))},
			[]string{"output:Done.", "output:Done."}, "Done.\nDone.", 0,
		},
		{
			"lines without an ID are answers of their own",
			[]ClassifiedMsg{ai(0, "", text("Done")), ai(1, "", text("Done."))},
			[]string{"output:Done", "output:Done."}, "Done\nDone.", 0,
		},
		{
			"calls without an ID are calls of their own",
			[]ClassifiedMsg{ai(0, "m", toolUse("", "Bash", `{}`)), ai(1, "m", toolUse("", "Bash", `{}`), text("."))},
			[]string{"tool:", "tool:", "output:."}, ".", 0,
		},
		{
			"an interrupted answer keeps what there is",
			[]ClassifiedMsg{ai(0, "m", thinking("Hmm")), ai(1, "m", text("This answ"))},
			[]string{"thinking:Hmm", "output:This answ"}, "This answ", 1,
		},
		{
			"tools at the API have their results in the answer",
			[]ClassifiedMsg{
				ai(0, "m", &wire.ServerToolUseBlock{ID: "s", Name: "web_search", Input: `{"query":"go"}`}),
				ai(1, "m", &wire.WebSearchToolResultBlock{
					ToolUseID: "s", Content: `[{"type":"web_search_result","title":"Go","url":"https://go.dev"}]`,
				}),
			},
			[]string{"tool:s {\"query\":\"go\"}Go\nhttps://go.dev"}, "", 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chunks := BuildChunks(test.msgs)
			if diff := cmp.Diff(test.want, linesOfAnswer(itemsOf(test.msgs))); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if chunks[0].Text != test.text || chunks[0].ThinkingCount != test.thinking {
				t.Errorf("text %q, thinking %d, want %q, %d", chunks[0].Text, chunks[0].ThinkingCount, test.text, test.thinking)
			}
		})
	}
}

func TestRepeatedCallIsListedOnce(t *testing.T) {
	t.Parallel()
	got := BuildChunks([]ClassifiedMsg{
		ai(0, "m", toolUse("a", "Bash", `{}`)), ai(1, "m", toolUse("a", "Bash", `{}`), toolUse("b", "Read", `{}`)),
	})
	if diff := cmp.Diff([]ToolCall{{"a", "Bash"}, {"b", "Read"}}, got[0].ToolCalls); diff != "" {
		t.Errorf("ToolCalls (-want +got):\n%s", diff)
	}
}
