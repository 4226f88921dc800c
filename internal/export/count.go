package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// counts are the numbers at the head of a document.
type counts struct {
	turns, calls, failed, agents int
	files, added, removed        int
	changed                      map[string]bool
}

// count adds up what is in the conversation, subagents included.
func (d *Document) count() counts {
	n := counts{changed: map[string]bool{}}
	for i := range d.Chunks {
		if d.Chunks[i].Type == transcript.UserChunk {
			n.turns++
		}
	}
	n.chunks(d.Chunks)
	n.subagents(d.Unlinked)
	n.files = len(n.changed)
	return n
}

func (n *counts) chunks(chunks []Chunk) {
	for i := range chunks {
		for j := range chunks[i].Items {
			n.item(&chunks[i].Items[j])
		}
	}
}

func (n *counts) item(i *Item) {
	n.subagents(i.Agents)
	if !i.isCall() {
		return
	}
	n.calls++
	if i.IsError {
		n.failed++
	}
	for _, diff := range i.diffs() {
		n.changed[diff.Path] = true
		n.added += diff.Added
		n.removed += diff.Removed
	}
}

func (i *Item) isCall() bool {
	return i.Type == transcript.ItemToolCall || i.Type == transcript.ItemSubagent
}

func (n *counts) subagents(agents []Agent) {
	for i := range agents {
		n.agents++
		n.chunks(agents[i].Chunks)
	}
}

// diffs returns what a call changed in files.
func (i *Item) diffs() []transcript.FileDiff {
	switch i.Tool {
	case "Bash", "PowerShell", "Edit", "MultiEdit", "Write", "NotebookEdit":
		item := i.restore()
		return item.Diffs()
	}
	return nil
}

// redactedText lists what was redacted.
func redactedText(found map[string]int, n int) string {
	if n == 0 {
		return "nothing was found"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return strings.Join(parts, ", ")
}
