package sessions

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Message is one of a recorded conversation.
type RecordedMessage struct {
	// Message is a [*wire.UserMessage] or a [*wire.AssistantMessage], or a [*wire.InvalidFrame] for one that does not
	// decode. Its Raw is the whole entry, which has members that messages of a live session do not have.
	wire.Message
	UUID string
	Time time.Time
	// CompactSummary says that the message sums up what was said before a compaction.
	CompactSummary bool
	// ParentToolUseID is the call that started the subagent whose message this is, and ParentAgentID the subagent that
	// called, if it was not the session itself.
	ParentToolUseID string
	ParentAgentID   string
}

// Messages returns the conversation of a session as the agent would continue it: from the last message back to the
// first, or to the last compaction, without branches that were left, without messages of subagents, without those that
// were made for the model alone, and without those that were taken back or replaced. Messages that a compaction has kept
// are there behind its summary, and so are all results of calls that were made at the same time.
//
// It loads the transcript when the loop begins. An error is the last pair, and wraps [ErrNotFound] if there is no such
// session.
func Messages(ctx context.Context, id string, opts *Options) iter.Seq2[*RecordedMessage, error] {
	return func(yield func(*RecordedMessage, error) bool) {
		s, key, err := opts.find(ctx, id)
		if err != nil {
			yield(nil, err)
			return
		}
		c, err := loadChain(s.store.Load(ctx, key))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, node := range c.conversation() {
			if node.visible() && !c.takenBack[node.uuid] && !yield(node.message(), nil) {
				return
			}
		}
	}
}

// A Subagent is one that a session has started.
type Subagent struct {
	ID string
	// Key is that of its transcript.
	Key wire.SessionKey
}

// Subagents returns the subagents of a session whose transcripts there are, in the order of their subpaths.
func Subagents(ctx context.Context, id string, opts *Options) ([]Subagent, error) {
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.subagents(ctx, key)
}

func (s scope) subagents(ctx context.Context, key wire.SessionKey) ([]Subagent, error) {
	subpaths, err := s.store.Subpaths(ctx, key)
	if err != nil {
		return nil, err
	}
	var found []Subagent
	for _, subpath := range subpaths {
		agent, ok := strings.CutPrefix(path.Base(subpath), "agent-")
		if ok && strings.HasPrefix(subpath, "subagents/") {
			key.Subpath = subpath
			found = append(found, Subagent{ID: agent, Key: key})
		}
	}
	return found, nil
}

// SubagentMessages returns the conversation of a subagent, as [Messages] does that of a session.
func SubagentMessages(ctx context.Context, id, agent string, opts *Options) iter.Seq2[*RecordedMessage, error] {
	return func(yield func(*RecordedMessage, error) bool) {
		key, s, err := opts.findSubagent(ctx, id, agent)
		if err != nil {
			yield(nil, err)
			return
		}
		c, err := loadChain(s.store.Load(ctx, key))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, node := range c.wholeConversation() {
			if !node.spoken() || node.meta || c.takenBack[node.uuid] {
				continue
			}
			msg := node.message()
			msg.ParentToolUseID, msg.ParentAgentID = c.parentToolUse, c.parentAgent
			if !yield(msg, nil) {
				return
			}
		}
	}
}

func (o *Options) findSubagent(ctx context.Context, id, agent string) (wire.SessionKey, scope, error) {
	s, key, err := o.find(ctx, id)
	if err != nil {
		return key, s, err
	}
	agents, err := s.subagents(ctx, key)
	if err != nil {
		return key, s, err
	}
	for _, a := range agents {
		if a.ID == agent {
			return a.Key, s, nil
		}
	}
	return key, s, &notFoundError{fmt.Sprintf("subagent %q of session %s", agent, id), s.String()}
}

// parents returns what the file beside a subagent's transcript says of who started it.
func parents(entry wire.JSON) (toolUse, agent string, ok bool) {
	content, ok := sessionfile.Sidecar(entry)
	if !ok {
		return "", "", false
	}
	var sidecar struct{ ToolUseID, ParentAgentID string }
	if err := wire.JSON(content).Decode(&sidecar); err != nil {
		return "", "", false
	}
	return sidecar.ToolUseID, sidecar.ParentAgentID, true
}

// A node is an entry that names its parent.
type node struct {
	head
	entry wire.JSON // "" unless it is a message
	calls calls
	place int  // in the transcript
	left  bool // a rewind has left it behind

	passed bool  // by lastSpoken
	above  *node // the message that it has found
}

// visible reports whether the node is a message of the conversation between the user and the agent.
func (n *node) visible() bool { return n.spoken() && n.main() }

// main reports whether the node belongs to the session itself.
func (n *node) main() bool { return !n.sidechain && !n.meta && n.team == "" }

func (n *node) message() *RecordedMessage {
	return &RecordedMessage{
		Message:        wire.Decode([]byte(n.entry)),
		UUID:           n.uuid,
		Time:           n.created(),
		CompactSummary: n.compactSummary,
	}
}

// A chain is what of a transcript hangs together by parents.
type chain struct {
	nodes     []*node
	byUUID    map[string]*node
	kept      []preserved     // by compactions, in their order
	takenBack map[string]bool // UUIDs of entries that are not shown any more
	cuts      map[string]int  // UUIDs of entries that a rewind has left behind, and how many nodes there were then

	parentToolUse, parentAgent string // of a subagent
}

func loadChain(entries iter.Seq2[wire.JSON, error]) (*chain, error) {
	c := &chain{byUUID: map[string]*node{}, takenBack: map[string]bool{}, cuts: map[string]int{}}
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		c.add(entry)
	}
	for _, p := range c.kept {
		c.relink(p)
	}
	return c, nil
}

func (c *chain) add(entry wire.JSON) {
	h, ok := readHead([]byte(entry))
	if !ok || !h.chained() {
		if toolUse, agent, ok := parents(entry); ok {
			c.parentToolUse, c.parentAgent = toolUse, agent
		}
		if h.kind == "last-prompt" && string(jsonlex.Lookup([]byte(entry), 0, "rewound")) == "true" {
			c.cuts[unquoted(jsonlex.Lookup([]byte(entry), 0, "cutUuid"))] = len(c.nodes)
		}
		return
	}
	n := &node{head: h, place: len(c.nodes)}
	if h.spoken() {
		n.entry, n.calls = entry, readCalls(h.message)
	}
	if len(h.compaction) > 0 {
		c.kept = append(c.kept, readPreserved(h.compaction))
	}
	for _, uuid := range h.takenBack {
		c.takenBack[uuid] = true
	}
	n.head.message, n.head.compaction, n.head.toolResult = nil, nil, nil
	c.nodes = append(c.nodes, n)
	c.byUUID[h.uuid] = n
}

// leave marks what rewinds have left behind: the nodes below a cut that were there when it was made. What came later
// counts again, wherever it hangs.
func (c *chain) leave() {
	if len(c.cuts) == 0 {
		return
	}
	until := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		until[i] = c.cuts[n.uuid]
		if above := c.byUUID[n.parent]; above != nil && above.place < i {
			until[i] = max(until[i], until[above.place])
		}
		n.left = i < until[i]
	}
}

// conversation returns what leads to the last message of the session itself, in order.
func (c *chain) conversation() []*node {
	c.leave()
	named := map[string]bool{}
	for _, n := range c.nodes {
		if !n.left {
			named[n.parent] = true
		}
	}
	var leaf *node
	for _, n := range c.nodes {
		if named[n.uuid] || n.left {
			continue
		}
		if last := c.lastSpoken(n); last != nil && better(last, leaf) {
			leaf = last
		}
	}
	if leaf == nil { // every node has a child, and there is a cycle; or all was left behind
		return c.wholeConversation()
	}
	return c.completed(c.path(leaf))
}

// better reports whether a rather than b is the end of the conversation.
func better(a, b *node) bool {
	if b == nil || a.main() != b.main() {
		return b == nil || a.main()
	}
	return a.place > b.place
}

// wholeConversation returns what leads to the last message, whoever said it.
func (c *chain) wholeConversation() []*node {
	for _, n := range slices.Backward(c.nodes) {
		if n.spoken() && !n.left {
			return c.completed(c.path(n))
		}
	}
	return nil
}

// lastSpoken returns the message at n or nearest above it, or nil. It passes over a node once only, however many nodes
// are below that.
func (c *chain) lastSpoken(n *node) *node {
	var passed []*node
	for n != nil && !n.spoken() && !n.passed {
		n.passed = true
		passed = append(passed, n)
		n = c.byUUID[n.parent]
	}
	if n != nil && n.passed {
		n = n.above
	}
	for _, p := range passed {
		p.above = n
	}
	return n
}

// path returns the nodes from the root to n.
func (c *chain) path(n *node) []*node {
	up := c.upwards(n)
	slices.Reverse(up)
	return up
}

// upwards returns n and the nodes above it. It ends where a parent is not there, or comes for the second time.
func (c *chain) upwards(n *node) []*node {
	var up []*node
	seen := map[*node]bool{}
	for n != nil && !seen[n] {
		seen[n] = true
		up = append(up, n)
		n = c.byUUID[n.parent]
	}
	return up
}

// calls are the calls of tools in a message, and the results that it brings, by the IDs of the calls.
type calls struct {
	message string // the ID of the answer, which its parts share
	made    []string
	results []string
}

func readCalls(message []byte) calls {
	c := calls{message: unquoted(jsonlex.Lookup(message, 0, "id"))}
	var l jsonlex.Lexer
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return c
	}
	l.Reset(content)
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		block := l.Skip()
		switch unquoted(jsonlex.Lookup(block, 0, "type")) {
		case "tool_use":
			c.made = append(c.made, unquoted(jsonlex.Lookup(block, 0, "id")))
		case "tool_result":
			c.results = append(c.results, unquoted(jsonlex.Lookup(block, 0, "tool_use_id")))
		}
	}
	return c
}

// completed returns a path with what belongs to its messages but hangs beside it. An answer with several calls has
// several entries, and each result hangs at the entry of its call: a path leads through one of them only.
func (c *chain) completed(path []*node) []*node {
	taken := map[string]bool{} // UUIDs
	answered := map[string]bool{}
	last := map[string]*node{} // of the entries of an answer
	for _, n := range path {
		taken[n.uuid] = true
		for _, id := range n.calls.results {
			answered[id] = true
		}
		if n.calls.message != "" && n.kind == "assistant" {
			last[n.calls.message] = n
		}
	}
	beside := map[*node][]*node{}
	called := map[string]*node{}
	for _, n := range c.nodes {
		anchor := last[n.calls.message]
		if n.kind != "assistant" || anchor == nil || n.sidechain != anchor.sidechain {
			continue
		}
		for _, id := range n.calls.made {
			called[id] = anchor
		}
		if !taken[n.uuid] {
			taken[n.uuid] = true
			beside[anchor] = append(beside[anchor], n)
		}
	}
	for _, n := range c.nodes {
		if anchor := missing(n, called, answered); anchor != nil && !taken[n.uuid] {
			beside[anchor] = append(beside[anchor], n)
		}
	}
	return spliced(path, beside)
}

// missing returns the end of the answer whose calls n has results of, if nothing else has. It notes that n has them.
func missing(n *node, called map[string]*node, answered map[string]bool) *node {
	if n.kind != "user" || len(n.calls.results) == 0 {
		return nil
	}
	anchor := called[n.calls.results[0]]
	known := slices.ContainsFunc(n.calls.results, func(id string) bool { return answered[id] })
	if anchor == nil || known || n.sidechain != anchor.sidechain {
		return nil
	}
	for _, id := range n.calls.results {
		answered[id] = true
	}
	return anchor
}

func spliced(path []*node, beside map[*node][]*node) []*node {
	if len(beside) == 0 {
		return path
	}
	var all []*node
	for _, n := range path {
		all = append(all, n)
		all = append(all, beside[n]...)
	}
	return all
}

// preserved are the messages that a compaction has kept: they hang behind an anchor, which is its summary, though their
// own entries still name what was before it.
type preserved struct {
	anchor string
	uuids  []string // in order, if all are named
	first  string   // otherwise the ends of the part that was kept
	last   string
}

func readPreserved(compaction []byte) preserved {
	if kept := jsonlex.Lookup(compaction, 0, "preservedMessages"); kept != nil {
		return preserved{
			anchor: unquoted(jsonlex.Lookup(kept, 0, "anchorUuid")),
			uuids:  texts(jsonlex.Lookup(kept, 0, "uuids")),
		}
	}
	kept := jsonlex.Lookup(compaction, 0, "preservedSegment")
	return preserved{
		anchor: unquoted(jsonlex.Lookup(kept, 0, "anchorUuid")),
		first:  unquoted(jsonlex.Lookup(kept, 0, "headUuid")),
		last:   unquoted(jsonlex.Lookup(kept, 0, "tailUuid")),
	}
}

// relink hangs what a compaction has kept behind its anchor. What else hung there hangs behind the last of them then.
// Nothing changes if a part of it is missing.
func (c *chain) relink(p preserved) {
	kept := c.segment(p)
	if anchor := c.byUUID[p.anchor]; anchor == nil || slices.Contains(kept, anchor) || len(kept) == 0 {
		return
	}
	moved := map[*node]bool{}
	parent := p.anchor
	for _, n := range kept {
		n.parent, parent = parent, n.uuid
		moved[n] = true
	}
	for _, n := range c.nodes {
		if n.parent == p.anchor && !moved[n] {
			n.parent = parent
		}
	}
}

// segment returns the entries that a compaction has kept, in order, or none.
func (c *chain) segment(p preserved) []*node {
	if len(p.uuids) == 0 && p.first != "" {
		return c.between(p.first, p.last)
	}
	var kept []*node
	for _, uuid := range p.uuids {
		n := c.byUUID[uuid]
		if n == nil {
			return nil
		}
		kept = append(kept, n)
	}
	return kept
}

// between returns the entries from first to last, by parents, or none if last is not below first.
func (c *chain) between(first, last string) []*node {
	path := c.path(c.byUUID[last])
	for i, n := range path {
		if n.uuid == first {
			return path[i:]
		}
	}
	return nil
}
