package sessions

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A RecordedMessage is one message of a recorded conversation.
type RecordedMessage struct {
	// Message is a [*wire.UserMessage] or a [*wire.AssistantMessage], or a [*wire.InvalidFrame] if
	// the entry could not be decoded. Its Raw method returns the whole entry, which has members
	// that a message of a live session does not have.
	wire.Message
	// UUID is the UUID of the entry, for [ForkOptions.UpTo].
	UUID string
	// Time is the time of the entry, or the zero time if it has none.
	Time time.Time
	// CompactSummary reports whether the message is the summary that replaces everything said
	// before a compaction.
	CompactSummary bool
	// ParentToolUseID is the ID of the tool call that started the subagent which has this message.
	// It is empty for messages of the session itself, and if the call is not known.
	ParentToolUseID string
	// ParentAgentID is the ID of the subagent that made that call. It is empty for messages of the
	// session itself, and if the session made the call.
	ParentAgentID string
}

// Messages returns the conversation of a session as the agent would continue it: from the first
// message, or the last compaction, to the last message. It leaves out abandoned branches, messages
// of subagents, messages that only the model sees, and messages that were retracted or replaced.
// Messages that a compaction has kept come after its summary. If several tools were called at once,
// all of their results are included.
//
//	for msg, err := range sessions.Messages(ctx, id, nil) {
//		if err != nil {
//			return err
//		}
//		switch m := msg.Message.(type) {
//		case *wire.UserMessage:
//			fmt.Println("user:", m.Content.Text())
//		case *wire.AssistantMessage:
//			fmt.Println("assistant:", m.Content.Text())
//		}
//	}
//
// The transcript is loaded when the loop starts. An error is the last pair. It wraps [ErrNotFound]
// if there is no such session.
//
// To get everything, including abandoned branches, use [Read].
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
			if node.visible() && !c.retracted[node.uuid] && !yield(node.message(), nil) {
				return
			}
		}
	}
}

// A Subagent is a subagent that a session started.
type Subagent struct {
	// ID is the ID of the subagent, such as "a0618b082132820bd", for [SubagentMessages] and
	// [Session.Entry].
	ID string
	// Key is the key of its transcript, for [Store.Load]. Its subpath starts with "subagents/".
	Key wire.SessionKey
}

// Subagents returns the subagents of a session that have a transcript, sorted by subpath. If there
// is no such session, the error wraps [ErrNotFound]. A session without subagents has none, which is
// not an error.
//
//	agents, err := sessions.Subagents(ctx, id, nil)
//	if err != nil {
//		return err
//	}
//	for _, agent := range agents {
//		for msg, err := range sessions.SubagentMessages(ctx, id, agent.ID, nil) {
//			…
//		}
//	}
func Subagents(ctx context.Context, id string, opts *Options) ([]Subagent, error) {
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.subagents(ctx, key)
}

// subagents returns the subagents of a session, by the names of their transcripts.
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

// SubagentMessages returns the conversation of a subagent, as [Messages] does for a session. agent
// is its ID, as [Subagents] returns it. If there is no such subagent, the error wraps
// [ErrNotFound]. The messages have ParentToolUseID set, if the call that started the subagent is
// known.
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
			if !node.isMessage() || node.meta || c.retracted[node.uuid] {
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

// findSubagent returns the key of a subagent's transcript, and the scope that has it.
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

// parents returns what the metadata of a subagent says about its start: the tool call, and the
// subagent that made it.
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

// A node is an entry of the tree that parents form.
type node struct {
	head
	entry     wire.JSON // "" unless it is a message
	calls     calls
	index     int  // in chain.nodes
	abandoned bool // abandoned by a rewind

	passed bool  // lastMessage has visited it
	above  *node // the result of that visit
}

// visible reports whether the node is a message between the user and the agent.
func (n *node) visible() bool { return n.isMessage() && n.main() }

// main reports whether the node belongs to the session itself.
func (n *node) main() bool { return !n.sidechain && !n.meta && n.team == "" }

// message decodes the entry of a node.
func (n *node) message() *RecordedMessage {
	return &RecordedMessage{
		Message:        wire.Decode([]byte(n.entry)),
		UUID:           n.uuid,
		Time:           n.created(),
		CompactSummary: n.compactSummary,
	}
}

// A chain is the tree of a transcript's entries, connected by their parents. The conversation is
// the path from the root to the last message. Three kinds of entries change the tree or the path:
//
//   - A compaction may keep messages. They are moved after its summary: see relink.
//   - A rewind abandons the entries below a cut: see markAbandoned.
//   - An entry may retract others, for example an answer that was refused. These are not shown, but
//     their children are.
type chain struct {
	nodes     []*node
	byUUID    map[string]*node
	kept      []entryfacts.Preserved // messages kept by compactions, in order
	retracted map[string]bool        // UUIDs of retracted entries
	cuts      map[string]int         // UUIDs of entries abandoned by a rewind, and the number of nodes at that time

	parentToolUse, parentAgent string // for the transcript of a subagent
}

// loadChain reads a transcript, and moves messages that compactions have kept.
func loadChain(entries iter.Seq2[wire.JSON, error]) (*chain, error) {
	c := &chain{byUUID: map[string]*node{}, retracted: map[string]bool{}, cuts: map[string]int{}}
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

// add adds an entry. Entries outside of the tree matter only if they record a rewind or the
// metadata of a subagent.
func (c *chain) add(entry wire.JSON) {
	h, ok := readHead([]byte(entry))
	if !ok || !h.chained() {
		if toolUse, agent, ok := parents(entry); ok {
			c.parentToolUse, c.parentAgent = toolUse, agent
		}
		if uuid, ok := entryfacts.Rewound(h.kind, []byte(entry)); ok {
			c.cuts[uuid] = len(c.nodes)
		}
		return
	}
	n := &node{head: h, index: len(c.nodes)}
	if h.isMessage() {
		n.entry, n.calls = entry, readCalls(h.message)
	}
	if len(h.compaction) > 0 {
		c.kept = append(c.kept, entryfacts.ReadPreserved(h.compaction))
	}
	for _, uuid := range h.retracted {
		c.retracted[uuid] = true
	}
	n.head.message, n.head.compaction, n.head.toolResult = nil, nil, nil
	c.nodes = append(c.nodes, n)
	c.byUUID[h.uuid] = n
}

// markAbandoned marks the nodes that rewinds abandoned: those below a cut that existed when it was
// made. A node that was added later counts again, whatever its parent.
func (c *chain) markAbandoned() {
	if len(c.cuts) == 0 {
		return
	}
	until := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		until[i] = c.cuts[n.uuid]
		if above := c.byUUID[n.parent]; above != nil && above.index < i {
			until[i] = max(until[i], until[above.index])
		}
		n.abandoned = i < until[i]
	}
}

// conversation returns the nodes that lead to the last message of the session itself, in order.
func (c *chain) conversation() []*node {
	c.markAbandoned()
	named := map[string]bool{}
	for _, n := range c.nodes {
		if !n.abandoned {
			named[n.parent] = true
		}
	}
	var leaf *node
	for _, n := range c.nodes {
		if named[n.uuid] || n.abandoned {
			continue
		}
		if last := c.lastMessage(n); last != nil && better(last, leaf) {
			leaf = last
		}
	}
	if leaf == nil { // there is a cycle, or everything was abandoned
		return c.wholeConversation()
	}
	return c.completed(c.path(leaf))
}

// better reports whether a, rather than b, is the end of the conversation.
func better(a, b *node) bool {
	if b == nil || a.main() != b.main() {
		return b == nil || a.main()
	}
	return a.index > b.index
}

// wholeConversation returns the nodes that lead to the last message, no matter which agent wrote
// it.
func (c *chain) wholeConversation() []*node {
	for _, n := range slices.Backward(c.nodes) {
		if n.isMessage() && !n.abandoned {
			return c.completed(c.path(n))
		}
	}
	return nil
}

// lastMessage returns n if it is a message, or else the nearest message above it, or nil. It visits
// each node once, no matter how many nodes are below it.
func (c *chain) lastMessage(n *node) *node {
	var passed []*node
	for n != nil && !n.isMessage() && !n.passed {
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

// upwards returns n and the nodes above it. It ends where a parent is missing or comes for the
// second time.
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

// calls are the tool calls in a message, and the calls that it has results for, by ID.
type calls struct {
	message string // the ID of the answer, which all of its entries share
	made    []string
	results []string
}

// readCalls returns the tool calls and results in the content of a message.
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

// completed adds to a path the entries that belong to its messages but are on other branches. An
// answer with several tool calls has several entries, and each result is a child of the entry with
// its call:
//
//	answer, call 1 --- result 1
//	   |
//	answer, call 2 --- result 2 --- next answer
//
// A path leads through only one of the results. All of them are needed, since the API refuses a
// conversation in which a call has no result.
func (c *chain) completed(path []*node) []*node {
	taken := map[string]bool{} // UUIDs
	answered := map[string]bool{}
	last := map[string]*node{} // the last entry of each answer
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

// missing returns the last entry of the answer whose calls n has results for, if no other entry has
// these results. It records that they are there now.
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

// spliced returns the path with the nodes of beside inserted after their anchors.
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

// relink makes the messages that a compaction has kept follow its anchor. The former children of
// the anchor become children of the last of these messages:
//
//	before:  kept 1 - kept 2 - compaction - summary (anchor) - next
//	after:   compaction - summary (anchor) - kept 1 - kept 2 - next
//
// If any message is missing, nothing changes.
func (c *chain) relink(p entryfacts.Preserved) {
	kept := c.segment(p)
	if anchor := c.byUUID[p.Anchor]; anchor == nil || slices.Contains(kept, anchor) || len(kept) == 0 {
		return
	}
	moved := map[*node]bool{}
	parent := p.Anchor
	for _, n := range kept {
		n.parent, parent = parent, n.uuid
		moved[n] = true
	}
	for _, n := range c.nodes {
		if n.parent == p.Anchor && !moved[n] {
			n.parent = parent
		}
	}
}

// segment returns the entries that a compaction has kept, in order, or none.
func (c *chain) segment(p entryfacts.Preserved) []*node {
	if len(p.UUIDs) == 0 && p.First != "" {
		return c.between(p.First, p.Last)
	}
	var kept []*node
	for _, uuid := range p.UUIDs {
		n := c.byUUID[uuid]
		if n == nil {
			return nil
		}
		kept = append(kept, n)
	}
	return kept
}

// between returns the entries from first to last, along parents, or none if last is not below
// first.
func (c *chain) between(first, last string) []*node {
	path := c.path(c.byUUID[last])
	for i, n := range path {
		if n.uuid == first {
			return path[i:]
		}
	}
	return nil
}
