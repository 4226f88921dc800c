package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/clewdev/clew/internal/entryfacts"
)

// A conversation is the tree of the entries, and the chunks of the path that is shown. Chunks are
// built as entries come, as long as they continue the path; otherwise again from the tree, at the
// next show.
type conversation struct {
	// tree has all entries, including hidden ones.
	tree tree
	path *branchPath // nil while it has to be traced again
	// chunker has the chunks of the path.
	chunker chunker
	// branches are all other paths, as of the last settle.
	branches []Branch
	branched bool // branches have changed
	// left are the lines of entries that are not part of the conversation, as of the last settle.
	left    []int
	rebuilt bool // since the last call of changed
}

// add adds an entry that is not in the tree yet. d is shown of it, or nothing if d is nil. It
// returns how many entries are no longer shown because the entry retracts them.
func (c *conversation) add(e *Entry, d *digest) (superseded int) {
	at := c.tree.add(e, newNode(e, d))
	if n := &c.tree.nodes[at]; n.hidden {
		c.left = append(c.left, n.line)
		if d != nil {
			superseded++
		}
	}
	for _, uuid := range e.Supersedes {
		if n := c.tree.hide(uuid); n != nil {
			c.path = nil
			if n.digest != nil {
				superseded++
			}
		}
	}
	if e.Subtype == "compact_boundary" && len(e.CompactMetadata) > 0 {
		c.tree.relink(entryfacts.ReadPreserved(e.CompactMetadata))
	}
	c.follow(at)
	return superseded
}

// rewind removes an entry and everything that follows it so far from the conversation.
func (c *conversation) rewind(uuid string) {
	if c.tree.cut(uuid) {
		c.path = nil
	}
}

// follow continues the conversation with the new node, if it is part of it. If the node changes the
// path, the path is traced again later, once for any number of such nodes.
func (c *conversation) follow(at int32) {
	switch n := &c.tree.nodes[at]; {
	case c.path == nil:
	case !c.tree.follow(c.path, at):
		c.path = nil
	case n.path == none:
		c.branched = true
	default:
		n.show(&c.chunker)
	}
}

// show returns the chunks of the conversation, and its branches.
func (c *conversation) show() ([]Chunk, []Branch) {
	c.settle()
	return c.chunker.chunks(), c.branches
}

// changed returns the index of the first chunk that is new or changed since the last call, or the
// number of chunks.
func (c *conversation) changed() int {
	c.settle()
	first := c.chunker.changed()
	if c.rebuilt {
		first = 0
	}
	c.rebuilt = false
	return first
}

// settle builds the chunks again if the conversation took another path, and the branches if one of
// them changed.
func (c *conversation) settle() {
	another := c.path == nil
	if !another && !c.branched {
		return
	}
	var paths int32
	c.path, paths = c.tree.retrace()
	if another {
		c.chunker = chunker{}
		for i := range c.tree.nodes {
			if n := &c.tree.nodes[i]; n.path == 0 {
				n.show(&c.chunker)
			}
		}
		c.rebuilt = true
	}
	c.branches = c.tree.branches(paths)
	c.branched = false
	c.left = nil // others may have the old one
	for i := range c.tree.nodes {
		if n := &c.tree.nodes[i]; n.path != 0 || n.hidden {
			c.left = append(c.left, n.line)
		}
	}
}

// branches returns the chunks of all paths except the conversation's.
func (t *tree) branches(paths int32) []Branch {
	chunkers := make([]*chunker, paths)
	var branches []Branch
	var numbers []int32
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.path == 0 || !n.shows() {
			continue
		}
		if chunkers[n.path] == nil {
			chunkers[n.path] = new(chunker)
			branches = append(branches, Branch{FromLine: t.lineAbove(n)})
			numbers = append(numbers, n.path)
		}
		n.show(chunkers[n.path])
	}
	for i, number := range numbers {
		branches[i].Chunks = chunkers[number].chunks()
	}
	return branches
}

// A PromptQueue finds prompts that an agent recorded only in queue-operation entries. Agents up to
// 2.1.88 give a prompt that was sent during a turn to the model, and write no entry of the
// conversation for it. [Read], [Stream] and a [Builder] do this themselves; a PromptQueue is for
// callers that classify entries one by one. The zero value is ready. It can be marshaled to JSON,
// to continue later. It is for one goroutine at a time.
type PromptQueue struct{ queue entryfacts.Queue }

// Next takes the next entry. It returns the entries that belong before it: one for each prompt that
// the agent gave to the model, of type attachment, as newer agents write it. Each has the position
// of the queue-operation with its text.
func (q *PromptQueue) Next(e *Entry) []Entry {
	switch {
	case e.Type == entryfacts.QueueOperation:
		q.queue.Operate(e.Raw, entryfacts.Queued{
			Text: entryfacts.PromptText(e.Content), At: e.Position, Time: e.Timestamp, Content: bytes.Clone(e.Content),
		})
	case q.queue.Empty() || e.IsSidechain || e.IsMeta:
	case e.Type == "assistant":
		return q.Rest()
	case e.Type == "attachment" && e.AttachmentType == queuedCommand:
		q.queue.Said(valueAt(e.Attachment, "prompt"))
	case e.Type == "user" && e.Message != nil && e.ToolUseResult == nil:
		q.queue.Said(e.Message.Content)
		if !bytes.Contains(e.Message.Content, []byte(`"tool_result"`)) {
			return q.Rest()
		}
	}
	return nil
}

// Rest returns the entries that belong after the last one.
func (q *PromptQueue) Rest() []Entry {
	var entries []Entry
	for _, prompt := range q.queue.TakeAbsorbed() {
		e := Entry{
			Type: "attachment", UUID: fmt.Sprintf("%s-%d", entryfacts.QueueOperation, prompt.At.Line),
			Timestamp: prompt.Time, Position: prompt.At,
		}
		content := prompt.Content
		if content == nil {
			content, _ = json.Marshal(prompt.Text) // a string always can be
		}
		e.setQueued(content)
		entries = append(entries, e)
	}
	return entries
}

// setQueued turns an entry into a queued prompt with that content.
func (e *Entry) setQueued(content []byte) {
	e.AttachmentType = queuedCommand
	e.Attachment = append(append([]byte(`{"type":"`+queuedCommand+`","prompt":`), content...), '}')
}

// MarshalJSON returns the state of the queue.
func (q PromptQueue) MarshalJSON() ([]byte, error) { return json.Marshal(&q.queue) }

// UnmarshalJSON restores the state of the queue.
func (q *PromptQueue) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &q.queue) }

// IsZero reports whether the queue has nothing to find.
func (q PromptQueue) IsZero() bool { return q.queue.Empty() }
