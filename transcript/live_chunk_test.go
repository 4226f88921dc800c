package transcript

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func readFile(t *testing.T, path string, opts *ReadOptions) *Transcript {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tr, err := Read(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// What a stream does not tell, or not at the same time: when prompts were sent, what an answer has used and why it ended.
var notStreamed = cmp.Options{
	cmpopts.IgnoreFields(Chunk{}, "Timestamp", "DurationMs", "Usage", "StopReason", "PermissionMode", "Lines"),
	cmpopts.IgnoreFields(DisplayItem{}, "Timestamp", "DurationMs", "CallAt", "ResultAt", "Agents"),
}

// The messages of a session as it runs give the same chunks as its transcript.
func TestLiveAgreesWithDisk(t *testing.T) {
	t.Parallel()
	for _, dir := range recordedDialogues(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			live := liveTranscript(t, dir)
			chunks := live.Chunks
			if onlyLive[filepath.Base(dir)] != "" {
				chunks = chunks[:len(chunks)-1]
			}
			disk := readFile(t, filepath.Join(dir, "transcript.jsonl"), nil)
			if diff := cmp.Diff(disk.Chunks, chunks, notStreamed); diff != "" {
				t.Errorf("(-disk +live):\n%s", diff)
			}
			if len(disk.Chunks) < 2 {
				t.Errorf("%d chunks", len(disk.Chunks))
			}
			compareAgents(t, dir, live)
		})
	}
}

// What a rewind takes out of a running session is a branch, and no longer in the context.
func TestRewindOfARunningSession(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	turn := func(number string, tokens int) {
		content := wire.Content{&wire.TextBlock{Text: number}}
		b.AddMessage(&wire.UserMessage{UUID: "u" + number, APIMessage: wire.APIMessage{Content: content}}, time.Time{})
		b.AddMessage(&wire.AssistantMessage{UUID: "a" + number, APIMessage: wire.APIMessage{
			ID: "m" + number, Model: "claude", Content: content, Usage: &wire.Usage{InputTokens: tokens},
		}}, time.Time{})
		b.AddMessage(&wire.ResultMessage{}, time.Time{})
	}
	turn("1", 100)
	turn("2", 900)
	b.Rewind("u2", "a1")
	turn("3", 200)
	tr := b.Transcript()
	if got := saidIn(tr.Chunks); got != "1 1 3 3" || len(tr.Branches) != 1 || saidIn(tr.Branches[0].Chunks) != "2 2" {
		t.Errorf("conversation %q, branches %+v", got, tr.Branches)
	}
	var tokens []int
	for _, turn := range tr.Context().Turns {
		tokens = append(tokens, turn.Tokens)
	}
	if diff := cmp.Diff([]int{100, 200}, tokens); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

func liveTranscript(t *testing.T, dir string) *Transcript {
	b := NewBuilder(nil)
	for _, msg := range recordedDialogue(t, dir) {
		b.AddMessage(msg, time.Time{})
	}
	live := b.Transcript()
	if unlinked := Link(live, InlineAgents(live)); len(unlinked) > 0 {
		t.Errorf("subagents without a call: %v", unlinked)
	}
	return live
}

// compareAgents compares the subagents of a running session, of which there is one at most, with those on disk.
func compareAgents(t *testing.T, dir string, live *Transcript) {
	files, err := filepath.Glob(filepath.Join(dir, "subagents", "*.jsonl"))
	if err != nil || len(files) != len(live.Sidechains) {
		t.Fatalf("%d subagents on disk (%v), %d live", len(files), err, len(live.Sidechains))
	}
	for _, file := range files {
		var found []*Agent
		for _, chunk := range live.Chunks {
			for _, item := range chunk.Items {
				found = append(found, item.Agents...)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d subagents under the items", len(found))
		}
		if diff := cmp.Diff(readFile(t, file, nil).Chunks, found[0].Transcript.Chunks, notStreamed); diff != "" {
			t.Errorf("%s (-disk +live):\n%s", file, diff)
		}
	}
}
