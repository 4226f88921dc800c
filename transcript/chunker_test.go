package transcript

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// chunkAll gives messages to a chunker, which are in the lines 1, 2 and so on. A nil is an
// interruption.
func chunkAll(msgs ...ClassifiedMsg) *chunker {
	c := new(chunker)
	for i, msg := range msgs {
		chunkNext(c, i+1, msg)
	}
	return c
}

func chunkNext(c *chunker, line int, msg ClassifiedMsg) {
	if msg == nil {
		c.add(newInterruption(wire.Position{Line: line}, atMillis(int64(line))))
		return
	}
	c.add(newDigest(msg, wire.Position{Line: line, Offset: int64(100 * line)}))
}

func linesOf(chunks []Chunk) [][]int {
	var lines [][]int
	for i := range chunks {
		lines = append(lines, chunks[i].Lines)
	}
	return lines
}

func TestLateResultGoesToItsCall(t *testing.T) {
	t.Parallel()
	c := chunkAll(
		user(0, "go"),
		ai(10, "m", toolUse("a", "Bash", `{}`)),
		ai(11, "m", toolUse("b", "Bash", `{}`)),
		&UserMsg{Timestamp: atMillis(20), Text: "faster", Queued: true},
	)
	if got := c.changed(); got != 0 {
		t.Errorf("changed() at first = %d, want 0", got)
	}
	chunkNext(c, 5, meta(30, result("a", "slow")))
	chunks := c.chunks()
	if len(chunks) != 3 {
		t.Fatalf("%d chunks, want 3: a result alone makes none", len(chunks))
	}
	if turn := chunks[1]; turn.Items[0].ToolResult != "slow" || turn.Items[0].DurationMs != 20 || turn.DurationMs != 20 {
		t.Errorf("turn = %+v, want the result in it", turn)
	}
	if got := c.changed(); got != 1 {
		t.Errorf("changed() = %d, want 1", got)
	}

	chunkNext(c, 6, meta(40, result("b", "slow too"), result("x", "of nobody")))
	if got := c.changed(); got != 1 {
		t.Errorf("changed() = %d, want 1", got)
	}
	if diff := cmp.Diff([][]int{{1}, {2, 3, 5}, {4}, {6}}, linesOf(c.chunks())); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got := c.changed(); got != 4 {
		t.Errorf("changed() after nothing = %d, want 4", got)
	}
}

func TestPositions(t *testing.T) {
	t.Parallel()
	c := chunkAll(ai(0, "m", toolUse("a", "Bash", `{}`)), meta(1, result("a", "x")), meta(2, result("b", "y")))
	items := c.chunks()[0].Items
	for i, want := range [][2]int64{{100, 200}, {300, 300}} {
		if got := [2]int64{items[i].At.Offset, items[i].ResultAt.Offset}; got != want {
			t.Errorf("item %d is at %d, want %d", i, got, want)
		}
	}
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		msgs        []ClassifiedMsg
		lines       [][]int
		interrupted []bool
	}{
		{
			"ends a turn",
			[]ClassifiedMsg{user(0, "go"), ai(1, "m", text("Well")), nil},
			[][]int{{1}, {2, 3}}, []bool{false, true},
		},
		{"before an answer", []ClassifiedMsg{user(0, "go"), nil}, [][]int{{1, 2}}, []bool{true}},
		{
			"is left where it was when the agent goes on",
			[]ClassifiedMsg{ai(0, "m", text("Well")), nil, ai(3, "n", text("So"))},
			[][]int{{1, 2}, {3}}, []bool{true, false},
		},
		{
			"does not keep results away",
			[]ClassifiedMsg{ai(0, "m", toolUse("a", "Bash", `{}`)), nil, meta(3, result("a", "stopped"))},
			[][]int{{1, 2, 3}}, []bool{true},
		},
		{"of nothing", []ClassifiedMsg{nil}, [][]int{{1}}, []bool{true}},
		{"of nothing, then a prompt", []ClassifiedMsg{nil, user(2, "go")}, [][]int{{1, 2}}, []bool{false}},
		{"of nothing, then an answer", []ClassifiedMsg{nil, ai(2, "m", text("Hi"))}, [][]int{{1, 2}}, []bool{false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chunks := chunkAll(test.msgs...).chunks()
			if diff := cmp.Diff(test.lines, linesOf(chunks)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			var interrupted []bool
			for i := range chunks {
				interrupted = append(interrupted, chunks[i].Interrupted)
			}
			if diff := cmp.Diff(test.interrupted, interrupted); diff != "" {
				t.Errorf("interrupted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterruptionEndsTheDuration(t *testing.T) {
	t.Parallel()
	c := chunkAll(ai(0, "m", text("This answ")))
	c.add(newInterruption(wire.Position{Line: 2}, atMillis(700)))
	if got := c.chunks()[0].DurationMs; got != 700 {
		t.Errorf("DurationMs = %d, want 700", got)
	}
}

func TestLinesThatSayNothingAreCounted(t *testing.T) {
	t.Parallel()
	empty := &AIMsg{Timestamp: atMillis(5), IsMeta: true}
	c := chunkAll(
		empty, user(10, "hi"), empty, ai(20, "m"), empty, &SystemMsg{}, &CompactMsg{}, empty, &CompactMsg{Summary: true},
	)
	if diff := cmp.Diff([][]int{{1, 2, 3}, {4, 5}, {6}, {7, 8, 9}}, linesOf(c.chunks())); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// randomMessages returns messages of all kinds, whose IDs and texts meet now and then. A nil is an
// interruption.
func randomMessages(r *rand.Rand, n int) []ClassifiedMsg {
	var msgs []ClassifiedMsg
	for i := range n {
		when := atMillis(int64(i)*20_000 + r.Int64N(90_000))
		if r.IntN(8) == 0 {
			when = time.Time{}
		}
		msgs = append(msgs, randomMessage(r, when))
	}
	return msgs
}

func randomMessage(r *rand.Rand, when time.Time) ClassifiedMsg {
	switch r.IntN(16) {
	case 0:
		return &UserMsg{Timestamp: when, Text: "prompt", Queued: r.IntN(2) == 0}
	case 1:
		return &SystemMsg{Timestamp: when, Output: "output", IsError: r.IntN(2) == 0}
	case 2:
		return &CompactMsg{Timestamp: when, Text: "compact", Summary: r.IntN(2) == 0, PreTokens: r.IntN(100)}
	case 3:
		return &TeammateMsg{Timestamp: when, Text: "hello", TeammateID: "bob"}
	case 4:
		return nil
	case 5, 6, 7, 8, 9:
		m := &AIMsg{Timestamp: when, IsMeta: true, Blocks: randomBlocks(r, true)}
		if r.IntN(3) == 0 {
			m.SourceToolUseID = randomID(r)
		}
		if r.IntN(3) == 0 {
			m.AgentID = "agent"
		}
		return m
	}
	m := &AIMsg{
		Timestamp: when, MessageID: []string{"", "m1", "m2"}[r.IntN(3)], Model: "claude-x",
		Usage: usage.Usage{InputTokens: r.IntN(3)}, Blocks: randomBlocks(r, false),
	}
	if len(m.Blocks) == 0 {
		m.Text, m.ThinkingCount = "text without a block", r.IntN(2)
	}
	return m
}

func randomID(r *rand.Rand) string { return fmt.Sprintf("t%d", r.IntN(6)) }

func randomBlocks(r *rand.Rand, meta bool) wire.Content {
	var content wire.Content
	for range r.IntN(4) {
		words := strings.Repeat("word ", r.IntN(3))
		if meta {
			content = append(content, []wire.Block{result(randomID(r), words), text(words)}[r.IntN(2)])
			continue
		}
		content = append(content, []wire.Block{
			text(words), thinking(words), &wire.RedactedThinkingBlock{}, toolUse(randomID(r), "Bash", `{}`),
			toolUse(randomID(r), "Task", `{"description":"`+words+`"}`), result(randomID(r), words),
		}[r.IntN(6)])
	}
	return content
}

// snapshot copies chunks, including everything that a chunker changes.
func snapshot(chunks []Chunk) []Chunk {
	chunks = slices.Clone(chunks)
	for i := range chunks {
		ch := &chunks[i]
		ch.Items = slices.Clone(ch.Items)
		for j := range ch.Items {
			ch.Items[j].Injected = slices.Clone(ch.Items[j].Injected)
		}
		ch.ToolCalls, ch.Injected, ch.Lines = slices.Clone(ch.ToolCalls), slices.Clone(ch.Injected), slices.Clone(ch.Lines)
	}
	return chunks
}

func TestChunkingAsTheyComeIsChunkingAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		msgs := randomMessages(r, 1+r.IntN(50))
		c := new(chunker)
		var before []Chunk
		for i, msg := range msgs {
			chunkNext(c, i+1, msg)
			if r.IntN(3) == 0 {
				continue // and look at several at a time
			}
			chunks := c.chunks()
			if want := chunkAll(msgs[:i+1]...).chunks(); !reflect.DeepEqual(want, chunks) {
				t.Fatalf("seed %d, %d messages, at once and as they come (-want +got):\n%s", seed, i+1, cmp.Diff(want, chunks))
			}
			checkLines(t, i+1, chunks)
			first := c.changed()
			if first > len(chunks) || first > len(before) {
				t.Fatalf("seed %d: changed() = %d of %d chunks, there were %d", seed, first, len(chunks), len(before))
			}
			if want, got := before[:first], chunks[:first]; first > 0 && !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d, line %d: chunk before changed() = %d has changed (-want +got):\n%s",
					seed, i+1, first, cmp.Diff(want, got))
			}
			before = snapshot(chunks)
		}
	}
}

// checkLines checks that each line is in one chunk, in order.
func checkLines(t *testing.T, n int, chunks []Chunk) {
	t.Helper()
	seen := make([]int, n+1)
	for i := range chunks {
		if !slices.IsSorted(chunks[i].Lines) {
			t.Fatalf("lines of chunk %d are not in order: %d", i, chunks[i].Lines)
		}
		for _, line := range chunks[i].Lines {
			seen[line]++
		}
	}
	for line := 1; line <= n; line++ {
		if seen[line] != 1 {
			t.Fatalf("line %d is in %d chunks: %d", line, seen[line], linesOf(chunks))
		}
	}
}

func TestBuildChunksIsTheChunker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		msgs := slices.DeleteFunc(randomMessages(rand.New(rand.NewPCG(seed, 7)), 40), func(m ClassifiedMsg) bool {
			return m == nil
		})
		want := snapshot(chunkAll(msgs...).chunks())
		for i := range want {
			want[i].Lines, want[i].At = nil, wire.Position{}
			for j := range want[i].Items {
				item := &want[i].Items[j]
				item.At, item.ResultAt = wire.Position{}, wire.Position{}
			}
		}
		if got := BuildChunks(msgs); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d (-want +got):\n%s", seed, cmp.Diff(want, got))
		}
	}
}

// TestDigestsCanBeUsedAgain checks that a chunker does not change its input.
func TestDigestsCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		var digests []*digest
		for i, msg := range randomMessages(rand.New(rand.NewPCG(seed, 8)), 40) {
			if msg != nil {
				digests = append(digests, newDigest(msg, wire.Position{Line: i + 1}))
			}
		}
		var first, second chunker
		for _, d := range digests {
			first.add(d)
		}
		want := snapshot(first.chunks())
		for _, d := range digests {
			second.add(d)
		}
		if got := second.chunks(); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d (-want +got):\n%s", seed, cmp.Diff(want, got))
		}
		if got := first.chunks(); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: the first chunks have changed (-want +got):\n%s", seed, cmp.Diff(want, got))
		}
	}
}

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

// block is the number of the message's block in its answer.
func block(number int, m *AIMsg) *AIMsg {
	m.Block = number
	return m
}

// complete marks the blocks of a message as complete.
func complete(m *AIMsg) *AIMsg {
	m.Complete = true
	return m
}

func stopped(m *AIMsg) *AIMsg {
	m.StopReason = "end_turn"
	return m
}

// Each block that an agent wrote is shown, whichever version it has.
func TestBlocksOfOneAnswer(t *testing.T) {
	t.Parallel()
	for name, member := range map[string]string{
		"with block numbers": `"version":"2.1.325","apiBlockIndex":%d`,
		"without":            `"version":"2.1.50","x":%d`,
		"only numbers":       `"apiBlockIndex":%d`,
	} {
		lines := userLine(`"Go"`, "") + "\n"
		for i, text := range []string{"Same", "Same", "Same and more"} {
			lines += fmt.Sprintf(`{"type":"assistant","uuid":"a%d",`+member+`,"message":{"id":"m","model":"claude-x","role":"assistant",`+
				`"content":[{"type":"text","text":%q}]}}`+"\n", i, i, text)
		}
		const want = "Same\nSame\nSame and more"
		read, err := Read(strings.NewReader(lines), nil)
		if err != nil || len(read.Chunks) != 2 || read.Chunks[1].Text != want {
			t.Errorf("%s: %+v, %v", name, read.Chunks, err)
		}
		for chunk, err := range Stream(strings.NewReader(lines), nil) {
			if err != nil || chunk.Type == AIChunk && chunk.Text != want {
				t.Errorf("%s, as a stream: %q, %v", name, chunk.Text, err)
			}
		}
	}
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
			"blocks that begin alike, with their numbers",
			[]ClassifiedMsg{block(1, ai(0, "m", text("Same"))), block(2, ai(1, "m", text("Same"))), block(3, ai(2, "m", text("Same and more")))},
			[]string{"output:Same", "output:Same", "output:Same and more"}, "Same\nSame\nSame and more", 0,
		},
		{
			"a block again under its number",
			[]ClassifiedMsg{block(1, ai(0, "m", text("Same"))), block(2, ai(1, "m", text("Same"))), block(2, ai(2, "m", text("Same and more")))},
			[]string{"output:Same", "output:Same and more"}, "Same\nSame and more", 0,
		},
		{
			"all blocks again under their numbers",
			[]ClassifiedMsg{
				block(1, ai(0, "m", text("One"))), block(2, ai(1, "m", text("Two"))), block(1, ai(2, "m", text("One"), text("Two"), text("Two"))),
			},
			[]string{"output:One", "output:Two", "output:Two"}, "One\nTwo\nTwo", 0,
		},
		{
			"complete blocks that begin alike",
			[]ClassifiedMsg{complete(ai(0, "m", text("Same"))), complete(ai(1, "m", text("Same"))), complete(ai(2, "m", text("Same and more")))},
			[]string{"output:Same", "output:Same", "output:Same and more"}, "Same\nSame\nSame and more", 0,
		},
		{
			"thinking that begins alike",
			[]ClassifiedMsg{complete(ai(0, "m", thinking("Hmm"))), complete(ai(1, "m", thinking("Hmm, no")))},
			[]string{"thinking:Hmm", "thinking:Hmm, no"}, "", 2,
		},
		{
			"blocks of an answer that has ended",
			[]ClassifiedMsg{stopped(ai(0, "m", text("Same"))), ai(1, "m", text("Same and more"))},
			[]string{"output:Same", "output:Same and more"}, "Same\nSame and more", 0,
		},
		{
			"a complete call twice",
			[]ClassifiedMsg{complete(ai(0, "m", toolUse("a", "Bash", `{}`))), complete(ai(1, "m", toolUse("a", "Bash", `{}`)))},
			[]string{"tool:a {}"}, "", 0,
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
