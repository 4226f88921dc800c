package transcript

import "time"

// A CallDiff is what one call changed in a file.
type CallDiff struct {
	FileDiff

	ToolName  string
	ToolID    string
	Timestamp time.Time
	// Agent is the subagent that made the call, or nil.
	Agent *Agent
}

// FileChanges are all changes of a file, in their order.
type FileChanges struct {
	Path  string
	Calls []CallDiff
	// Created says that the first call made the file, Deleted that the last one took it away.
	Created bool
	Deleted bool
	// Added and Removed are the sums over the calls.
	Added   int
	Removed int
}

// ChunkDiffs returns what a chunk changed, call by call, the calls of its subagents behind the one that started them.
func ChunkDiffs(c *Chunk) []FileDiff {
	var diffs []FileDiff
	w := diffWalk{yield: func(d CallDiff) { diffs = append(diffs, d.FileDiff) }}
	w.items(c.Items, nil)
	return diffs
}

// Diffs returns what chunks changed, file by file, in the order in which the files were first changed. Subagents are
// included once they were linked: see [Link].
func Diffs(chunks []Chunk) []FileChanges {
	var files []FileChanges
	index := map[string]int{}
	w := diffWalk{yield: func(d CallDiff) {
		at, ok := index[d.Path]
		if !ok {
			at = len(files)
			index[d.Path] = at
			files = append(files, FileChanges{Path: d.Path, Created: d.Created})
		}
		files[at].add(d)
	}}
	w.chunks(chunks, nil)
	return files
}

func (f *FileChanges) add(d CallDiff) {
	f.Calls = append(f.Calls, d)
	f.Added += d.Added
	f.Removed += d.Removed
	f.Deleted = d.Deleted
}

// A diffWalk yields the diffs of a conversation and of its subagents, each of them once.
type diffWalk struct {
	yield func(CallDiff)
	seen  map[*Agent]bool
}

func (w *diffWalk) chunks(chunks []Chunk, by *Agent) {
	for i := range chunks {
		w.items(chunks[i].Items, by)
	}
}

func (w *diffWalk) items(items []DisplayItem, by *Agent) {
	for i := range items {
		item := &items[i]
		for _, d := range item.Diffs() {
			w.yield(CallDiff{d, item.ToolName, item.ToolID, item.Timestamp, by})
		}
		for _, agent := range item.Agents {
			w.agent(agent)
		}
	}
}

func (w *diffWalk) agent(a *Agent) {
	if a == nil || w.seen[a] {
		return
	}
	if w.seen == nil {
		w.seen = map[*Agent]bool{}
	}
	w.seen[a] = true
	w.chunks(agentChunks(a), a)
}

// agentChunks returns the conversation of a subagent.
func agentChunks(a *Agent) []Chunk {
	if a.Transcript == nil {
		return nil
	}
	return a.Transcript.Chunks
}
