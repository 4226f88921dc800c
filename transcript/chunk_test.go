package transcript

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// atMillis returns the time of so many milliseconds after a start.
func atMillis(millis int64) time.Time {
	return time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC).Add(time.Duration(millis) * time.Millisecond)
}

func user(millis int64, text string) *UserMsg {
	return &UserMsg{Timestamp: atMillis(millis), Text: text}
}

// ai returns an answer with an ID, a model and these blocks.
func ai(millis int64, id string, blocks ...wire.Block) *AIMsg {
	return &AIMsg{Timestamp: atMillis(millis), MessageID: id, Model: "claude-x", Blocks: blocks}
}

// meta returns what goes back to the model.
func meta(millis int64, blocks ...wire.Block) *AIMsg {
	return &AIMsg{Timestamp: atMillis(millis), IsMeta: true, Blocks: blocks}
}

func text(s string) wire.Block     { return &wire.TextBlock{Text: s} }
func thinking(s string) wire.Block { return &wire.ThinkingBlock{Thinking: s} }

func toolUse(id, name, input string) wire.Block {
	return &wire.ToolUseBlock{ID: id, Name: name, Input: wire.JSON(input)}
}

func result(id, content string) wire.Block {
	quoted, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return &wire.ToolResultBlock{ToolUseID: id, Content: wire.JSON(quoted)}
}

// failed returns a result that is an error.
func failed(id, content string) wire.Block {
	b, _ := result(id, content).(*wire.ToolResultBlock)
	yes := true
	b.IsError = &yes
	return b
}

// diffChunks compares chunks but for the words of summaries.
func diffChunks(want, got []Chunk) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(DisplayItem{}, "ToolSummary"))
}

func TestTypesAreWords(t *testing.T) {
	t.Parallel()
	type both struct {
		Chunk ChunkType
		Item  DisplayItemType
	}
	for n, want := range []string{
		`{"Chunk":"user","Item":"thinking"}`,
		`{"Chunk":"ai","Item":"output"}`,
		`{"Chunk":"system","Item":"tool"}`,
		`{"Chunk":"compact","Item":"subagent"}`,
	} {
		value := both{ChunkType(n), DisplayItemType(n)}
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("Marshal(%v) = %s, %v, want %s", value, got, err, want)
		}
		var back both
		if err := json.Unmarshal(got, &back); err != nil || back != value {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", got, back, err, value)
		}
	}
	if got := ItemTeammateMessage.String(); got != "teammate" {
		t.Errorf("ItemTeammateMessage.String() = %q, want teammate", got)
	}
}

func TestTypesThatThereAreNot(t *testing.T) {
	t.Parallel()
	if got := ChunkType(4).String() + " " + DisplayItemType(-1).String(); got != "ChunkType(4) DisplayItemType(-1)" {
		t.Errorf("String() of types that there are not = %q", got)
	}
	if _, err := ChunkType(4).MarshalText(); err == nil {
		t.Error("MarshalText of an unknown type of chunk: no error")
	}
	if _, err := DisplayItemType(5).MarshalText(); err == nil {
		t.Error("MarshalText of an unknown type of item: no error")
	}
	chunk, item := SystemChunk, ItemSubagent
	if err := chunk.UnmarshalText([]byte("robot")); err == nil || chunk != SystemChunk {
		t.Errorf("UnmarshalText(robot) = %v, %v, want an error and no change", chunk, err)
	}
	if err := item.UnmarshalText([]byte("")); err == nil || item != ItemSubagent {
		t.Errorf("UnmarshalText() = %v, %v, want an error and no change", item, err)
	}
}
