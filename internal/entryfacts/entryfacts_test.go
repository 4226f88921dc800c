package entryfacts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestCallEndsTurn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool  string
		input wire.JSON
		want  bool
	}{
		{"ExitPlanMode", `{"plan":"p"}`, true},
		{"ExitPlanMode", ``, true},
		{"SendMessage", `{"type":"shutdown_response","approve":true}`, true},
		{"SendMessage", `{"message":{"type":"shutdown_response","approve":true}}`, true},
		{"SendMessage", `{"type":"shutdown_response","approve":false}`, false},
		{"SendMessage", `{"message":"hello"}`, false},
		{"SendMessage", `{`, false},
		{"Bash", `{"command":"ls"}`, false},
		{"StructuredOutput", `{}`, false},
	}
	for _, tt := range tests {
		if got := CallEndsTurn(tt.tool, func() wire.JSON { return tt.input }); got != tt.want {
			t.Errorf("CallEndsTurn(%s, %s) = %v, want %v", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestResultEndsTurn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		result Result
		want   bool
	}{
		{Result{}, false},
		{Result{Structured: `"User rejected tool use"`}, true},
		{Result{Structured: `"User rejected \u0074ool use"`}, true},
		{Result{Text: " User rejected tool use\n"}, true},
		{Result{Text: "it says: User rejected tool use"}, false},
		{Result{Structured: `{"stdout":"User rejected tool use"}`}, false},
		{Result{Structured: `"Structured output provided successfully"`}, true},
		{Result{Tool: "StructuredOutput", Succeeded: true}, true},
		{Result{Tool: "StructuredOutput"}, false},
		{Result{Tool: "Bash", Succeeded: true, Structured: `{}`, Text: "ok"}, false},
	}
	for _, tt := range tests {
		if got := tt.result.EndsTurn(); got != tt.want {
			t.Errorf("%+v ends the turn: %v, want %v", tt.result, got, tt.want)
		}
	}
}

func TestReadPreserved(t *testing.T) {
	t.Parallel()
	tests := map[string]Preserved{
		``:   {},
		`{}`: {},
		`{"preservedMessages":{"anchorUuid":"a","uuids":["x","",7,"y"]}}`:                              {Anchor: "a", UUIDs: []string{"x", "y"}},
		`{"preservedMessages":{"anchorUuid":"a"}}`:                                                     {Anchor: "a"},
		`{"preservedSegment":{"headUuid":"h","anchorUuid":"a","tailUuid":"t"}}`:                        {Anchor: "a", First: "h", Last: "t"},
		`{"preservedMessages":{},"preservedSegment":{"headUuid":"h","anchorUuid":"a","tailUuid":"t"}}`: {Anchor: "a", First: "h", Last: "t"},
		`{"preservedMessages":[],"preservedSegment":"x"}`:                                              {},
	}
	for metadata, want := range tests {
		if diff := cmp.Diff(want, ReadPreserved([]byte(metadata))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metadata, diff)
		}
	}
}

func TestRewound(t *testing.T) {
	t.Parallel()
	const line = `{"type":"last-prompt","rewound":true,"cutUuid":"u"}`
	if uuid, ok := Rewound("last-prompt", []byte(line)); uuid != "u" || !ok {
		t.Errorf("got %q, %v", uuid, ok)
	}
	for kind, line := range map[string]string{
		"user": line, "last-prompt": `{"rewound":"true","cutUuid":"u"}`, "": `{"cutUuid":"u"}`,
	} {
		if uuid, ok := Rewound(kind, []byte(line)); uuid != "" || ok {
			t.Errorf("%s %s: got %q, %v", kind, line, uuid, ok)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{
		``: nil, `null`: nil, `""`: nil, `7`: nil, `{"a":"b"}`: nil, `[]`: nil,
		`"a"`: {"a"}, `["a",1,"","b",["c"]]`: {"a", "b"}, `"\u0061"`: {"a"},
	} {
		if diff := cmp.Diff(want, Texts([]byte(value))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}
}

func TestChained(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"user", "assistant", "system", "attachment", "progress"} {
		if !Chained(kind) {
			t.Errorf("%s is not chained", kind)
		}
	}
	for _, kind := range []string{"", "summary", "last-prompt", "cost-state"} {
		if Chained(kind) {
			t.Errorf("%q is chained", kind)
		}
	}
}

func TestNotByUser(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<system-reminder>x</system-reminder>", "<tick>x</tick>", "<goal>x</goal>", "<session-start-hook>x</session-start-hook>",
		"<user-memory-input>x</user-memory-input>", "<ide_opened_file>a</ide_opened_file> <ide_selection>b</ide_selection>",
		"<local-command-caveat>x</local-command-caveat>", "<local-command-stdout>x</local-command-stdout>",
		"<local-command-stderr></local-command-stderr>", "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>",
		"<task-notification>x</task-notification>", "<tick>x</tick><task-notification>x", "Stop hook feedback:\nno",
		"[Request interrupted by user]", "[Request interrupted by user for tool use]", caveatStart + " More. " + caveatEnd,
	} {
		if !NotByUser(text) {
			t.Errorf("the user wrote %q", text)
		}
	}
	for _, text := range []string{
		"", "  ", "Hello", "<b>Hello</b>", "<tick>no end", "<system-reminder>x</system-reminder> Fix it",
		"[Request interrupted by user] No, the other", "<bash-input>ls</bash-input>",
		`<teammate-message teammate_id="x">y</teammate-message>`, "<command-name>/init</command-name>",
	} {
		if NotByUser(text) {
			t.Errorf("the user did not write %q", text)
		}
	}
}

// Between a person's words, white space stays as it is. An added text goes with the line
// breaks around it.
func TestCutAddedBlocks(t *testing.T) {
	t.Parallel()
	const tick = "<tick>x</tick>"
	for _, c := range []struct {
		blocks     []string
		rest, kind string
	}{
		{[]string{"Why?", "    if x {\n\t\ty()\n    }"}, "Why?\n    if x {\n\t\ty()\n    }", ""},
		{[]string{"Why?  \n", "\n\n\tcode", "end"}, "Why?  \n\n\n\n\tcode\nend", ""},
		{[]string{"Why?", tick + "\n\n    code"}, "Why?\n    code", "tick"},
		{[]string{"Why?", tick + " code"}, "Why?\ncode", "tick"},
		{[]string{"Why?", "  " + tick + "\n" + tick + "\n  code  ", "end"}, "Why?\n  code  \nend", "tick"},
		{[]string{"Why?", "  code\n\n<system-reminder>x</system-reminder>\n", "  end"}, "Why?\n  code\n  end", ""},
		{[]string{"Why?", "<system-reminder>x</system-reminder>", " ", "  end"}, "Why?\n  end", Reminder},
		{[]string{"  Why?\n", "  end \n"}, "Why?\n\n  end", ""},
		{[]string{tick, " \n"}, "", "tick"},
	} {
		if rest, kind := CutAddedBlocks(c.blocks); rest != c.rest || kind != c.kind {
			t.Errorf("CutAddedBlocks(%q) = %q, %q, want %q, %q", c.blocks, rest, kind, c.rest, c.kind)
		}
	}
}

func TestCutAdded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"":                             {"", ""},
		"Hello":                        {"Hello", ""},
		"<tick>x</tick> Hello":         {"Hello", "tick"},
		"<tick>x</tick><goal>y</goal>": {"", "tick"},
		"<tick>x</tick>[Request interrupted by user] No": {"No", KindInterruption},
		"[Request interrupted by user":                   {"", KindInterruption},
		"<IDE_Selection>x</ide_selection>y":              {"y", "ide_selection"},
		"<tick>no end":                                   {"<tick>no end", ""},
		caveatStart + strings.Repeat("x", 1000):          {strings.Repeat("x", 1000), "caveat"},
	} {
		if rest, kind := CutAdded(text); rest != want[0] || kind != want[1] {
			t.Errorf("CutAdded(%.40q) = %.40q, %q, want %.40q, %q", text, rest, kind, want[0], want[1])
		}
	}
}
