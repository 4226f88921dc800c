package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A countedContext ends after Err was called a number of times.
type countedContext struct {
	context.Context
	calls, most int
}

func (c *countedContext) Err() error {
	if c.calls++; c.calls > c.most {
		return context.Canceled
	}
	return nil
}

// bothSearches returns the two ways to search, by name.
func (d *fixture) bothSearches() map[string]func(context.Context, *Query) (*Result, error) {
	files := filesBelow(d.t, d.dir)
	return map[string]func(context.Context, *Query) (*Result, error){
		"index": func(ctx context.Context, q *Query) (*Result, error) { return d.index.Search(ctx, files, q) },
		"scan":  func(ctx context.Context, q *Query) (*Result, error) { return Scan(ctx, files, q, nil) },
	}
}

// A transcript that is read for its turns is not read to its end if the context ends.
func TestTurnsOfCanceledSearch(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple")+strings.Repeat(promptLine(2, strings.Repeat("pear ", 100)), 2000), os.O_APPEND)
	files := filesBelow(t, d.dir)
	var turns turnCounter
	ctx := &countedContext{Context: t.Context(), most: 2}
	if got := turns.of(ctx, &files[0], new(state)); len(got) > 0 {
		t.Errorf("%d lines have a turn, after the context has ended", len(got))
	}
	if ctx.calls <= ctx.most {
		t.Errorf("the context was asked %d times", ctx.calls)
	}
}

// A canceled search returns an error, even where it was canceled while it read a rewound session.
func TestCanceledSearchStops(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	rewound := strings.Replace(promptLine(3, "apple"), `"uuid"`, `"parentUuid":"u1","uuid"`, 1)
	d.write(deskSession+".jsonl", promptLine(1, "apple")+promptLine(2, "apple")+rewound, os.O_APPEND)
	for name, search := range d.bothSearches() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := search(ctx, words(t, "apple")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A search finds the prompts that a transcript shows at its end and that only the queue has. If
// more lines follow, each is still found once.
func TestQueuedPromptAtTheEnd(t *testing.T) {
	t.Parallel()
	queued := func(operation, text string) string {
		return `{"type":"queue-operation","timestamp":"2026-11-16T08:00:05Z","operation":"` + operation + `","content":"` + text + `"}` + "\n"
	}
	d := newFixture(t)
	for _, step := range []struct {
		name, text string
		found      map[string]int
	}{
		{"absorbed", promptLine(1, "apple") + queued("enqueue", "a pear") + queued("remove", "a pear") + queued("enqueue", "a plum"),
			map[string]int{"pear": 1, "plum": 0}},
		{"said", promptLine(2, "a pear"), map[string]int{"pear": 1, "plum": 0}},
		{"absorbed again", queued("remove", "a plum"), map[string]int{"pear": 1, "plum": 1}},
		{"answered", `{"type":"assistant","uuid":"a1","message":{"id":"m","content":[{"type":"text","text":"Fine"}]}}` + "\n",
			map[string]int{"pear": 1, "plum": 1}},
	} {
		d.write(deskSession+".jsonl", step.text, os.O_APPEND)
		shown, err := sessions.ReadFile(t.Context(), d.path(deskSession+".jsonl"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for word, want := range step.found {
			if got := chunksWith(shown, word); got != want {
				t.Errorf("%s: %d chunks have %q, want %d", step.name, got, word, want)
			}
			for name, search := range d.bothSearches() {
				result, err := search(t.Context(), words(t, word))
				if err != nil || len(result.Hits) != want {
					t.Errorf("%s, %s: %q is found %d times, want %d; error %v", step.name, name, word, len(result.Hits), want, err)
				}
			}
		}
	}
}

// chunksWith returns the number of chunks of users whose text has a word.
func chunksWith(t *transcript.Transcript, word string) (n int) {
	for i := range t.Chunks {
		if c := &t.Chunks[i]; c.Type == transcript.UserChunk && strings.Contains(c.Text, word) {
			n++
		}
	}
	return n
}

// Wherever an append was cut, and however it continues: a search finds the entries that the store
// loads, also where the index was written in between.
func TestSearchOfCutAppend(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	store := sessions.NewFolder(d.dir)
	store.Skipped = func(sessions.SkippedLine) {}
	key := wire.SessionKey{Project: "-project", SessionID: deskSession}
	path := d.path(deskSession + ".jsonl")
	said := func(n int) wire.JSON { return wire.JSON(strings.TrimSpace(promptLine(n, "an apple"))) }
	if err := store.Append(t.Context(), key, []wire.JSON{said(1)}); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Append(t.Context(), key, []wire.JSON{said(2), said(3), said(4)}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		var lines []int
		for entry, err := range store.Load(t.Context(), key) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := transcript.DecodeEntry([]byte(entry))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, e.Timestamp.Second())
		}
		for name, search := range d.bothSearches() {
			result, err := search(t.Context(), words(t, "apple"))
			if err != nil {
				t.Fatal(err)
			}
			var found []int
			for _, h := range result.Hits {
				found = append(found, h.Line)
			}
			slices.Reverse(found)
			if !slices.Equal(found, lines) {
				t.Errorf("%s, %s: lines %v were found, and %v loaded", what, name, found, lines)
			}
		}
	}
	for cut := len(first); cut < len(whole) && !t.Failed(); cut += soak.Size(29, 7) {
		d.write(deskSession+".jsonl", string(whole[:cut]), os.O_TRUNC)
		check(fmt.Sprintf("%d bytes", cut-len(first)))
		d.write(deskSession+".jsonl", string(whole[cut:]), os.O_APPEND)
		check(fmt.Sprintf("%d bytes and the rest", cut-len(first)))
		d.write(deskSession+".jsonl", promptLine(5, "an apple"), os.O_APPEND)
		check(fmt.Sprintf("%d bytes, the rest and an entry", cut-len(first)))
	}
}

// The words of the agent around the report of a subagent are not searched, nor in excerpts.
func TestPassageOfReport(t *testing.T) {
	t.Parallel()
	e, err := transcript.DecodeEntry([]byte(`{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"tool_result",` +
		`"tool_use_id":"t","content":[{"type":"text","text":"[Subagent hand-back] The report follows:\n  Line 3 is the cause."}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	passages := newExtractor().passages(&e)
	if len(passages) != 1 || passages[0].text != "Line 3 is the cause." {
		t.Errorf("%+v", passages)
	}
}
