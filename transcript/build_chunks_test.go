package transcript

import (
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

// output returns the item of a text.
func outputItem(millis int64, s string) DisplayItem {
	return DisplayItem{Type: ItemOutput, Timestamp: atMillis(millis), Text: s, TokenCount: len(s) / 4}
}

// called returns the item of a call that has no result.
func called(millis int64, id, name, input string) DisplayItem {
	return DisplayItem{
		Type: ItemToolCall, Timestamp: atMillis(millis), ToolID: id, ToolName: name,
		ToolInput: wire.JSON(input), TokenCount: len(input) / 4,
	}
}

// answered returns the item of a call with a result that came so many milliseconds later.
func answered(call DisplayItem, duration int64, content string) DisplayItem {
	call.HasResult, call.ToolResult, call.DurationMs = true, content, duration
	call.TokenCount = len(call.ToolInput)/4 + len(content)/4
	return call
}

func TestBuildChunks(t *testing.T) {
	t.Parallel()
	used := func(m *AIMsg, usage Usage, stop string) *AIMsg {
		m.Usage, m.StopReason = usage, stop
		return m
	}
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []Chunk
	}{
		{name: "nothing"},
		{name: "no message", msgs: []ClassifiedMsg{nil}},
		{
			name: "a user message keeps what it has",
			msgs: []ClassifiedMsg{&UserMsg{
				Timestamp: atMillis(1), Text: "hi", PermissionMode: "plan", Images: 2, Documents: 1, Queued: true,
			}},
			want: []Chunk{{
				Type: UserChunk, Timestamp: atMillis(1), Text: "hi", PermissionMode: "plan", Images: 2, Documents: 1, Queued: true,
			}},
		},
		{
			name: "answers in a row are one chunk, which user, system and compaction end",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), Text: "a"},
				&AIMsg{Timestamp: atMillis(10), Text: "b"},
				user(20, "u"),
				&AIMsg{Timestamp: atMillis(30), Text: "c"},
				&SystemMsg{Timestamp: atMillis(40), Output: "s", Stderr: "e", IsError: true},
				&AIMsg{Timestamp: atMillis(50), Text: "d"},
				&CompactMsg{Timestamp: atMillis(60), Trigger: "auto"},
				&AIMsg{Timestamp: atMillis(70), Text: "e"},
			},
			want: []Chunk{
				{Type: AIChunk, Timestamp: atMillis(0), Text: "a\nb", DurationMs: 10},
				{Type: UserChunk, Timestamp: atMillis(20), Text: "u"},
				{Type: AIChunk, Timestamp: atMillis(30), Text: "c"},
				{Type: SystemChunk, Timestamp: atMillis(40), Text: "s", Stderr: "e", IsError: true},
				{Type: AIChunk, Timestamp: atMillis(50), Text: "d"},
				{Type: CompactChunk, Timestamp: atMillis(60), Compaction: &Compaction{Trigger: "auto"}},
				{Type: AIChunk, Timestamp: atMillis(70), Text: "e"},
			},
		},
		{
			name: "blank texts are not joined",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), Text: "a"},
				&AIMsg{Timestamp: atMillis(0), Text: " \n"},
				ai(0, "m", text(""), text("b")),
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "a\nb", Model: "claude-x", Items: []DisplayItem{outputItem(0, "b")},
			}},
		},
		{
			name: "the model is the first, the stop reason the last that there is",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), IsMeta: true, Model: "meta", Blocks: wire.Content{result("x", "r")}},
				&AIMsg{Timestamp: atMillis(0), Model: "", StopReason: "tool_use"},
				&AIMsg{Timestamp: atMillis(0), Model: "first"},
				&AIMsg{Timestamp: atMillis(0), Model: "second", StopReason: "end_turn"},
				&AIMsg{Timestamp: atMillis(0), Model: "third"},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Model: "first", StopReason: "end_turn",
				Items: []DisplayItem{{Type: ItemOutput, Timestamp: atMillis(0), Text: "r", ToolID: "x"}},
			}},
		},
		{
			name: "the usage is that of the last answer that has one, and no sum",
			msgs: []ClassifiedMsg{
				used(ai(0, "1"), Usage{InputTokens: 5, OutputTokens: 7}, ""),
				used(ai(0, "2"), Usage{CacheReadTokens: 100, OutputTokens: 3}, ""),
				used(ai(0, "3"), Usage{ServiceTier: "standard"}, ""),
				&AIMsg{Timestamp: atMillis(0), IsMeta: true, Usage: Usage{InputTokens: 9}, Blocks: wire.Content{result("x", "r")}},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Model: "claude-x", Usage: Usage{CacheReadTokens: 100, OutputTokens: 3},
				Items: []DisplayItem{{Type: ItemOutput, Timestamp: atMillis(0), Text: "r", ToolID: "x"}},
			}},
		},
		{
			name: "without blocks there are no items, but what the message says counts",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), ThinkingCount: 2, ToolCalls: []ToolCall{{"t", "Read"}}},
				&AIMsg{Timestamp: atMillis(0), ThinkingCount: 1},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), ThinkingCount: 3, ToolCalls: []ToolCall{{"t", "Read"}},
			}},
		},
		{
			name: "thinking, output and calls are items in order",
			msgs: []ClassifiedMsg{
				&AIMsg{
					Timestamp: atMillis(0), MessageID: "m", Model: "claude-x", Text: "Let me see.", ThinkingCount: 2,
					ToolCalls: []ToolCall{{"t", "Bash"}},
					Blocks: wire.Content{
						thinking("Hmm, hmm."), &wire.RedactedThinkingBlock{Data: "x"}, text("Let me see."),
						toolUse("t", "Bash", `{"command":"ls"}`),
					},
				},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "Let me see.", Model: "claude-x", ThinkingCount: 2,
				ToolCalls: []ToolCall{{"t", "Bash"}},
				Items: []DisplayItem{
					{Type: ItemThinking, Timestamp: atMillis(0), Text: "Hmm, hmm.", TokenCount: 2},
					{Type: ItemThinking, Timestamp: atMillis(0)},
					outputItem(0, "Let me see."),
					called(0, "t", "Bash", `{"command":"ls"}`),
				},
			}},
		},
		{
			name: "messages of teammates fold into the answers",
			msgs: []ClassifiedMsg{
				&TeammateMsg{Timestamp: atMillis(0), Text: "I am done", TeammateID: "bob", Color: "blue"},
				ai(10, "m", text("Thanks.")),
				&TeammateMsg{Timestamp: atMillis(30), Text: "Bye", TeammateID: "eve"},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "Thanks.", Model: "claude-x", DurationMs: 30,
				Items: []DisplayItem{
					{
						Type: ItemTeammateMessage, Timestamp: atMillis(0), Text: "I am done", TokenCount: 2,
						TeammateID: "bob", TeammateColor: "blue",
					},
					outputItem(10, "Thanks."),
					{Type: ItemTeammateMessage, Timestamp: atMillis(30), Text: "Bye", TeammateID: "eve"},
				},
			}},
		},
		{
			name: "times that are not known don't count",
			msgs: []ClassifiedMsg{
				&AIMsg{Text: "a"},
				&AIMsg{Timestamp: atMillis(100), Text: "b"},
				&AIMsg{Timestamp: atMillis(350), Text: "c"},
				&AIMsg{Text: "d"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb\nc\nd", DurationMs: 250}},
		},
		{
			name: "a clock that goes back makes no negative duration",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(100), Text: "a"},
				&AIMsg{Timestamp: atMillis(40), Text: "b"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb"}},
		},
		{
			name: "the latest time ends a turn, wherever it stands",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(100), Text: "a"},
				&AIMsg{Timestamp: atMillis(300), Text: "b"},
				&AIMsg{Timestamp: atMillis(200), Text: "c"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb\nc", DurationMs: 200}},
		},
		{
			name: "a block that is not known is an output, and no answer",
			msgs: []ClassifiedMsg{ai(0, "m", unknownBlock(`{"type":"hologram","x":1}`), text("See above."))},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "See above.", Model: "claude-x",
				Items: []DisplayItem{outputItem(0, `{"type":"hologram","x":1}`), outputItem(0, "See above.")},
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := diffChunks(test.want, BuildChunks(test.msgs)); diff != "" {
				t.Errorf("BuildChunks (-want +got):\n%s", diff)
			}
		})
	}
}

// unknownBlock decodes one block.
func unknownBlock(block string) wire.Block {
	content, err := wire.DecodeContent(wire.JSON("[" + block + "]"))
	if err != nil {
		panic(err)
	}
	return content[0]
}

func TestBuildChunksCompaction(t *testing.T) {
	t.Parallel()
	boundary := func(millis int64) *CompactMsg {
		return &CompactMsg{
			Timestamp: atMillis(millis), Text: "Conversation compacted", Trigger: "manual",
			PreTokens: 100, PostTokens: 20, Duration: time.Second,
		}
	}
	summary := func(millis int64) *CompactMsg {
		return &CompactMsg{Timestamp: atMillis(millis), Text: "We built a boat.", Summary: true}
	}
	facts := &Compaction{Trigger: "manual", PreTokens: 100, PostTokens: 20, Duration: time.Second}
	whole := func(millis int64) Chunk {
		return Chunk{Type: CompactChunk, Timestamp: atMillis(millis), Text: "We built a boat.", Compaction: facts}
	}
	alone := Chunk{Type: CompactChunk, Timestamp: atMillis(5), Text: "Conversation compacted", Compaction: facts}
	untold := Chunk{Type: CompactChunk, Timestamp: atMillis(5), Text: "We built a boat.", Compaction: &Compaction{}}
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []Chunk
	}{
		{"boundary and summary", []ClassifiedMsg{boundary(5), summary(4)}, []Chunk{whole(5)}},
		{"summary and boundary", []ClassifiedMsg{summary(5), boundary(6)}, []Chunk{whole(5)}},
		{"boundary alone", []ClassifiedMsg{boundary(5)}, []Chunk{alone}},
		{"summary alone", []ClassifiedMsg{summary(5)}, []Chunk{untold}},
		{"two boundaries", []ClassifiedMsg{boundary(5), boundary(5)}, []Chunk{alone, alone}},
		{"two summaries", []ClassifiedMsg{summary(5), summary(5)}, []Chunk{untold, untold}},
		{"two boundaries and a summary", []ClassifiedMsg{boundary(5), boundary(6), summary(7)}, []Chunk{alone, whole(6)}},
		{"two compactions", []ClassifiedMsg{boundary(5), summary(5), boundary(9), summary(9)}, []Chunk{whole(5), whole(9)}},
		{
			"not over another chunk",
			[]ClassifiedMsg{boundary(5), user(6, "go on"), summary(5)},
			[]Chunk{alone, {Type: UserChunk, Timestamp: atMillis(6), Text: "go on"}, untold},
		},
		{
			"boundary without a time",
			[]ClassifiedMsg{
				&CompactMsg{Trigger: "manual", PreTokens: 100, PostTokens: 20, Duration: time.Second}, summary(5),
			},
			[]Chunk{whole(5)},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := diffChunks(test.want, BuildChunks(test.msgs)); diff != "" {
				t.Errorf("BuildChunks (-want +got):\n%s", diff)
			}
		})
	}
}
