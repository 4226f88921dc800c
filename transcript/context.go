package transcript

import (
	"math/bits"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
)

// A ContextReport shows how the model's context filled up in the course of a session.
// [Transcript.Context] returns it.
type ContextReport struct {
	// Turns has one element for each turn of the conversation with an answer, in order. A
	// compaction in the middle of a turn makes two of it.
	Turns []ContextTurn
	// Compactions are the places where the context was made smaller, in order.
	Compactions []ContextCompaction
}

// A ContextTurn describes the use of the context at the last answer of a turn.
type ContextTurn struct {
	// Line is the line of the answer's first entry, from 1.
	Line int
	// Time is the time of that entry, or the zero time if it has none.
	Time time.Time
	// Model is the model that answered, such as "claude-opus-5-5".
	Model string
	// Tokens is the input of the answer, cached or not, as the API counted it.
	Tokens int
	// Window is the size of the model's context in tokens, or 0 if it is not known. It is the
	// result of [ContextWindow], or 1,000,000 if the model took in more than 200,000 tokens in any
	// turn.
	Window int
	// Percent is the used part of the window, from 0 to 100. It is 0 if Window is 0.
	Percent float64
	// By splits the tokens into classes. The classes add up to Tokens, but each is an estimate:
	// four bytes count as a token, and the result is scaled. Older transcripts don't contain the
	// system prompt and the definitions of tools: the part of the first input that nothing else
	// explains is in [ContextSystem]. Classes that are empty are left out.
	By map[ContextClass]int
}

// A ContextClass is a kind of thing that fills the context.
type ContextClass string

// The classes of content in the context.
const (
	// ContextMemory is the content of files such as CLAUDE.md.
	ContextMemory ContextClass = "memory"
	// ContextSkills is the list of skills, and the text of those in use.
	ContextSkills ContextClass = "skills"
	// ContextTools is the definitions of tools, MCP servers and agents.
	ContextTools ContextClass = "tools"
	// ContextHooks is content that hooks added.
	ContextHooks ContextClass = "hooks"
	// ContextFiles is files that the user has named, that were read, or that changed.
	ContextFiles ContextClass = "files"
	// ContextToolCalls is all other tool calls, and their results.
	ContextToolCalls ContextClass = "tool_calls"
	// ContextThinking is the thinking of the model.
	ContextThinking ContextClass = "thinking"
	// ContextConversation is prompts, answers and summaries.
	ContextConversation ContextClass = "conversation"
	// ContextSystem is the system prompt, and reminders of any other kind.
	ContextSystem ContextClass = "system"
)

// A ContextCompaction is a place where the context was made smaller.
type ContextCompaction struct {
	// Line is the line of the entry that records the compaction, from 1.
	Line int
	// Time is the time of that entry, or the zero time if it has none.
	Time time.Time
	// Trigger is "auto" if the agent decided to compact, "manual" if the user asked for it, or "".
	Trigger string
	// Before is the size of the context before, in tokens: as the agent reports it, or else the
	// input of the last answer before.
	Before int
	// After is the size after, in tokens: as the agent reports it, or else the input of the next
	// answer. It is 0 if there is none yet.
	After int
	// Duration is the time the compaction took, or 0 if the agent does not report it.
	Duration time.Duration
	// Micro reports whether only old tool results were removed, and the conversation continued.
	Micro bool
}

// The sizes of contexts.
const (
	usualWindow = 200_000
	largeWindow = 1_000_000
)

// ContextWindow returns the size of a model's context in tokens. It returns false for a model whose
// context is not known. A model that has both sizes has the smaller one, unless its name ends in
// [1m]. For example, it returns 200,000 for "claude-sonnet-4-5" and 1,000,000 for
// "claude-sonnet-4-5[1m]".
func ContextWindow(model string) (tokens int, ok bool) {
	_, name, found := strings.Cut(model, "claude-")
	if !found {
		return 0, false
	}
	switch {
	case strings.Contains(name, "[1m]"), strings.HasPrefix(name, "opus-5-5"):
		return largeWindow, true
	case strings.HasPrefix(name, "3-"), strings.HasPrefix(name, "opus-4"), strings.HasPrefix(name, "sonnet-4"),
		strings.HasPrefix(name, "haiku-4"):
		return usualWindow, true
	}
	return 0, false
}

// A contextAccount keeps what the entries of a session add to the model's context. The zero value
// is ready.
type contextAccount struct {
	// records holds the events that affect the context, in the order of the file.
	records []contextRecord
	// calls are the answers that records of the kind contextAnswered refer to, without the last
	// one, which may still change. last is that one, if answered is set.
	calls    []contextCall
	last     contextCall
	answered bool
	// compactions holds the compactions that records of the kind contextCompacted refer to.
	compactions []ContextCompaction
	// message is the ID of the last answer, which takes several entries.
	message string
	// classes are the classes of the results of calls, by the call's ID, where it differs from the
	// class of other tools.
	classes map[string]uint8
	lexer   jsonlex.Lexer
}

// A contextRecord is something that happened to the context at a line. There are many.
type contextRecord struct {
	line  int32
	kind  recordKind
	class uint8
	// value is in tokens, or an index into calls or compactions.
	value int32
}

type recordKind uint8

const (
	contextAdded     recordKind = iota
	contextReplaced             // what there was of the class since the beginning
	contextPrompt               // a turn begins
	contextAnswered             // value: which call
	contextCompacted            // value: which compaction
)

// A contextCall is an answer of the model.
type contextCall struct {
	time   time.Time
	model  string
	tokens int
}

// note takes an entry. One that is not displayed does not count, now and later: see also report. It
// keeps nothing of the entry's raw members, and looks at most of them by their length alone.
func (c *contextAccount) note(e *Entry, displayed bool) {
	if !displayed {
		return
	}
	switch e.Type {
	case "assistant":
		c.answer(e)
	case "user":
		c.user(e)
	case "attachment":
		c.attachment(e)
	case "system":
		c.system(e)
	}
	c.lexer.Reset(nil)
}

// record appends a record. An addition of nothing is left out.
func (c *contextAccount) record(e *Entry, kind recordKind, class uint8, value int) {
	if kind == contextAdded && value == 0 {
		return
	}
	c.records = append(c.records, contextRecord{int32(e.Position.Line), kind, class, int32(value)})
}

// answer records what an answer took in, and the blocks that it adds to the context. A text that
// the agent made up is not in the context.
func (c *contextAccount) answer(e *Entry) {
	if e.Message == nil || e.Message.Model == entrylex.SyntheticModel {
		return
	}
	c.usage(e)
	l := &c.lexer
	l.Reset(e.Message.Content)
	if l.Peek() != '[' {
		c.record(e, contextAdded, inConversation, estimate(e.Message.Content))
		return
	}
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		class, size := c.answerBlock(l.Skip())
		c.record(e, contextAdded, class, size)
	}
}

// usage records the answer that the entry belongs to, with its input: at the first entry, before
// its own addition.
func (c *contextAccount) usage(e *Entry) {
	tokens := e.Message.Usage.ContextTokens()
	if tokens <= 0 {
		return
	}
	if id := e.Message.ID; id != "" && id == c.message {
		c.last.tokens = max(c.last.tokens, tokens)
		return
	}
	if c.answered {
		c.calls = append(c.calls, c.last)
	}
	c.message = e.Message.ID
	c.record(e, contextAnswered, 0, len(c.calls))
	c.last, c.answered = contextCall{e.Timestamp, e.Message.Model, tokens}, true
}

// call returns the answer that a record refers to.
func (c *contextAccount) call(i int32) contextCall {
	if int(i) == len(c.calls) {
		return c.last
	}
	return c.calls[i]
}

// answerBlock returns what a block of an answer adds.
func (c *contextAccount) answerBlock(block []byte) (class uint8, size int) {
	switch blockType(block) {
	case "thinking":
		return inThinking, thinkingSize(block)
	case "tool_use":
		c.called(block)
		return inToolCalls, estimate(jsonlex.Lookup(block, 0, "input"))
	case "text":
		return inConversation, estimate(jsonlex.Lookup(block, 0, "text"))
	}
	return inToolCalls, estimate(block)
}

// thinkingSize estimates a block of thinking. If its text is left out, the length of the signature
// is used.
func thinkingSize(block []byte) int {
	if text := jsonlex.Lookup(block, 0, "thinking"); len(text) > 2 {
		return estimate(text)
	}
	for _, name := range []string{"signature", "data"} {
		if text := jsonlex.Lookup(block, 0, name); text != nil {
			return estimate(text) * 3 / 4 // it is in base64
		}
	}
	return 0
}

// called remembers a call whose result is not counted with other tools.
func (c *contextAccount) called(block []byte) {
	name, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "name"))
	var class uint8
	switch string(name) {
	case "Read", "NotebookRead":
		class = inFiles
	case "Skill":
		class = inSkills
	default:
		return
	}
	if c.classes == nil {
		c.classes = map[string]uint8{}
	}
	c.classes[textMember(block, "id")] = class
}

// user records a prompt or a result. The first block shows which it is.
func (c *contextAccount) user(e *Entry) {
	if e.Message == nil {
		return
	}
	content := e.Message.Content
	l := &c.lexer
	l.Reset(content)
	if l.Peek() == '[' && l.FirstElem() {
		if block := content[l.Pos():]; blockType(block) == "tool_result" {
			c.record(e, contextAdded, c.resultClass(block), estimate(content))
			return
		}
	}
	class := c.promptClass(e)
	if class == inConversation && !e.IsCompactSummary {
		c.record(e, contextPrompt, 0, 0)
	}
	c.record(e, contextAdded, class, estimate(content))
}

// promptClass returns the class of a text for the model that is not a result.
func (c *contextAccount) promptClass(e *Entry) uint8 {
	if !e.IsMeta {
		return inConversation
	}
	if class, ok := c.classes[e.SourceToolUseID]; ok {
		return class
	}
	return inSystem
}

// resultClass returns the class of the result in a block, which depends on the tool.
func (c *contextAccount) resultClass(block []byte) uint8 {
	if len(c.classes) == 0 {
		return inToolCalls
	}
	id, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "tool_use_id"))
	class, ok := c.classes[string(id)]
	if !ok {
		return inToolCalls
	}
	if class == inFiles {
		delete(c.classes, string(id)) // there are many, and one result each
	}
	return class
}

// blockType returns the type of the block that data starts with, or "" for a type that does not
// matter here.
func blockType(data []byte) string {
	kind, _ := jsonlex.Unquote(jsonlex.Lookup(data, 0, "type"))
	switch string(kind) {
	case "tool_result":
		return "tool_result"
	case "tool_use":
		return "tool_use"
	case "text":
		return "text"
	case "thinking", "redacted_thinking":
		return "thinking"
	}
	return ""
}

func (c *contextAccount) attachment(e *Entry) {
	if e.AttachmentType == "prompt_snapshot" {
		c.snapshot(e)
		return
	}
	if isQueuedPrompt(e) {
		c.record(e, contextPrompt, 0, 0)
	}
	c.record(e, contextAdded, attachmentClass(e.AttachmentType), estimate(attachedText(e)))
}

// isQueuedPrompt reports whether an attachment is a prompt that came while the agent worked. It
// starts a turn, like any other prompt. Notifications of the agent come in the same attachments.
func isQueuedPrompt(e *Entry) bool {
	if e.AttachmentType != queuedCommand || trueAt(e.Attachment, "isMeta") {
		return false
	}
	mode := textAt(e.Attachment, "commandMode")
	return mode == "" || mode == "prompt"
}

// snapshot records the system prompt and the definitions of tools, which are sent along with each
// request.
func (c *contextAccount) snapshot(e *Entry) {
	if prompt := jsonlex.Lookup(e.Attachment, 0, "systemPrompt"); prompt != nil {
		c.record(e, contextReplaced, inSystem, estimate(prompt))
	}
	tools := jsonlex.Lookup(e.Attachment, 0, "tools")
	if tools == nil {
		return
	}
	size := 0
	l := &c.lexer
	l.Reset(tools)
	if l.Peek() == '[' {
		for ok := l.FirstElem(); ok; ok = l.NextElem() {
			tool := l.Skip()
			if schema := jsonlex.Lookup(tool, 0, "schema"); schema != nil {
				tool = schema
			}
			size += estimate(tool)
		}
	}
	c.record(e, contextReplaced, inTools, size)
}

// system records compactions. Other system entries are not in the context.
func (c *contextAccount) system(e *Entry) {
	switch e.Subtype {
	case "compact_boundary":
		c.compact(e, e.CompactMetadata, false)
	case "microcompact_boundary":
		c.compact(e, jsonlex.Lookup(e.Raw, 0, "microcompactMetadata"), true)
	}
}

// compact records a compaction. A micro one reports the tokens that it saved instead of the
// remaining ones.
func (c *contextAccount) compact(e *Entry, meta []byte, micro bool) {
	number := func(name string) int { return max(looseInt(jsonlex.Lookup(meta, 0, name)), 0) }
	compaction := ContextCompaction{
		Line: e.Position.Line, Time: e.Timestamp, Trigger: textMember(meta, "trigger"), Micro: micro,
		Before: number("preTokens"), After: number("postTokens"),
		Duration: entrylex.Milliseconds(float64(number("durationMs"))),
	}
	if saved := number("tokensSaved"); micro && saved > 0 {
		compaction.After = max(compaction.Before-saved, 0)
	}
	c.record(e, contextCompacted, 0, len(c.compactions))
	c.compactions = append(c.compactions, compaction)
}

// contextClasses are all classes, in the order in which a filling counts them.
var contextClasses = [...]ContextClass{
	ContextMemory, ContextSkills, ContextTools, ContextHooks, ContextFiles,
	ContextToolCalls, ContextThinking, ContextConversation, ContextSystem,
}

// Indexes into contextClasses.
const (
	inMemory = iota
	inSkills
	inTools
	inHooks
	inFiles
	inToolCalls
	inThinking
	inConversation
	inSystem
)

// attachmentClass returns the class of an attachment for the model.
func attachmentClass(kind string) uint8 {
	switch kind {
	case "nested_memory", "instructions", "memory", "relevant_memories":
		return inMemory
	case "skill_listing", "invoked_skills", "dynamic_skill", "skill_discovery":
		return inSkills
	case "deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta":
		return inTools
	case "file", "edited_text_file", "edited_image_file", "compact_file_reference", "pdf_reference", "directory",
		"already_read_file", "selected_lines_in_ide", "opened_file_in_ide", "mcp_resource", "read_truncation_notice":
		return inFiles
	case queuedCommand, "teammate_mailbox":
		return inConversation
	}
	if strings.HasPrefix(kind, "hook_") || kind == "async_hook_response" {
		return inHooks
	}
	return inSystem
}

// attachedText returns the part of an attachment entry that goes to the model: newer versions write
// it beside the attachment, as it was sent.
func attachedText(e *Entry) []byte {
	if text := jsonlex.Lookup(e.Raw, 0, "rendered"); text != nil {
		return text
	}
	part := func(name string) []byte { return jsonlex.Lookup(e.Attachment, 0, name) }
	switch e.AttachmentType {
	case "hook_success":
		return part("content") // and nothing if it has none
	case "hook_blocking_error":
		return part("blockingError")
	case queuedCommand:
		return part("prompt")
	case "skill_listing", "nested_memory", "file", "hook_additional_context", "invoked_skills":
		if text := part("content"); text != nil {
			return text
		}
	}
	return e.Attachment
}

// estimate returns about how many tokens a JSON text stands for.
func estimate[T ~string | ~[]byte](text T) int { return entrylex.EstimateTokens(text) }

// report returns the report of the entries so far. shown reports whether a line is part of the
// conversation now: a rewind removes lines that were recorded before. Nil means that all lines are.
func (c *contextAccount) report(shown func(line int) bool) ContextReport {
	r := contextReporter{account: c, shown: shown}
	r.begin()
	for _, record := range c.records {
		if r.shows(record) {
			r.take(record)
		}
	}
	r.endTurn()
	r.measureWindows()
	return r.ContextReport
}

// A filling is the tokens of each class, as estimated.
type filling [len(contextClasses)]int

// A contextReporter goes through the records once.
type contextReporter struct {
	ContextReport
	account *contextAccount
	shown   func(line int) bool

	// fixed is the content of each request, and added the content since the last compaction.
	fixed, added filling
	// recorded reports whether the definitions of tools are in the transcript. If they are not,
	// unseen is the number of tokens that the first answer took in beyond the transcript, once
	// measured is set.
	recorded, measured bool
	unseen             int
	// last is the last answer of the turn, if there is one yet.
	last    *ContextTurn
	atLast  filling
	tokens  int   // of the last answer
	waiting []int // compactions that don't tell what is left
}

// shows reports whether a record's line is part of the conversation.
func (r *contextReporter) shows(record contextRecord) bool {
	return r.shown == nil || r.shown(int(record.line))
}

// begin looks for the first system prompt and tools: they are written down after the first answer
// that they were sent for.
func (r *contextReporter) begin() {
	var seen [len(contextClasses)]bool
	for _, record := range r.account.records {
		if record.kind == contextReplaced && !seen[record.class] && r.shows(record) {
			seen[record.class] = true
			r.fixed[record.class] = int(record.value)
		}
	}
	r.recorded = seen[inTools]
}

// take applies the next record.
func (r *contextReporter) take(record contextRecord) {
	switch record.kind {
	case contextAdded:
		r.added[record.class] += int(record.value)
	case contextReplaced:
		r.fixed[record.class] = int(record.value)
	case contextPrompt:
		r.endTurn()
	case contextAnswered:
		r.answer(int(record.line), r.account.call(record.value))
	case contextCompacted:
		r.compact(r.account.compactions[record.value])
	}
}

// answer makes an answer the last one of the turn. The first answer shows how much of the context
// the transcript does not contain.
func (r *contextReporter) answer(line int, call contextCall) {
	r.last = &ContextTurn{Line: line, Time: call.time, Model: call.model, Tokens: call.tokens}
	r.tokens = call.tokens
	for i := range r.added {
		r.atLast[i] = r.fixed[i] + r.added[i]
	}
	if !r.measured {
		r.measured = true
		r.unseen = max(call.tokens-r.atLast.sum(), 0)
	}
	for _, i := range r.waiting {
		r.Compactions[i].After = call.tokens
	}
	r.waiting = nil
}

// endTurn appends the turn, if it has an answer.
func (r *contextReporter) endTurn() {
	if r.last == nil {
		return
	}
	unseen := r.unseen
	if r.recorded {
		unseen = 0
	}
	r.last.By = r.atLast.scale(r.last.Tokens, unseen)
	r.Turns = append(r.Turns, *r.last)
	r.last = nil
}

// compact appends a compaction, and empties the context unless it is a micro one.
func (r *contextReporter) compact(c ContextCompaction) {
	if c.Before == 0 {
		c.Before = r.tokens
	}
	if c.After == 0 {
		r.waiting = append(r.waiting, len(r.Compactions))
	}
	r.Compactions = append(r.Compactions, c)
	if c.Micro {
		if c.After > 0 {
			r.added[inToolCalls] = max(r.added[inToolCalls]-max(c.Before-c.After, 0), 0)
		}
		return
	}
	r.endTurn()
	r.added = filling{}
}

// measureWindows fills in the windows: a model that took in more than it usually can has the larger
// one.
func (r *contextReporter) measureWindows() {
	windows := map[string]int{}
	for _, turn := range r.Turns {
		if _, ok := windows[turn.Model]; !ok {
			windows[turn.Model], _ = ContextWindow(turn.Model)
		}
		if turn.Tokens > usualWindow {
			windows[turn.Model] = largeWindow
		}
	}
	for i := range r.Turns {
		turn := &r.Turns[i]
		if turn.Window = windows[turn.Model]; turn.Window > 0 {
			turn.Percent = min(100*float64(turn.Tokens)/float64(turn.Window), 100)
		}
	}
}

// sum returns the tokens of all classes.
func (f *filling) sum() int {
	sum := 0
	for _, tokens := range f {
		sum += tokens
	}
	return sum
}

// scale makes the estimates add up to total, and assigns everything that the transcript does not
// show to the system's.
func (f *filling) scale(total, unseen int) map[ContextClass]int {
	sum := f.sum()
	unseen = min(unseen, total)
	if sum == 0 {
		unseen = total
	}
	by := map[ContextClass]int{}
	rest := total - unseen
	before := 0 // rounding the running sum keeps the total exact
	for i, tokens := range f {
		until := before + tokens
		if share := portion(until, sum, rest) - portion(before, sum, rest); share > 0 {
			by[contextClasses[i]] = share
		}
		before = until
	}
	if unseen > 0 {
		by[ContextSystem] += unseen
	}
	return by
}

// portion returns part/whole of total, rounded down. The part is at most the whole.
func portion(part, whole, total int) int {
	if whole == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(part), uint64(total))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int(quotient)
}
