package transcript

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// Classify returns the message that an entry shows to a person. It returns false for an entry that
// shows nothing: records of the agent, texts that are only for the model, and entries of a
// sidechain.
//
// The message shares no memory with the entry's raw members. Classify may be called from several
// goroutines.
func Classify(e Entry) (ClassifiedMsg, bool) {
	c := classifiers.Get().(*classifier) //nolint:forcetypeassert // nothing else is in there
	defer classifiers.Put(c)
	msg, _ := c.classify(&e)
	return msg, msg != nil
}

var classifiers = sync.Pool{New: func() any { return &classifier{maxResult: -1} }}

// A classifier classifies the entries of one transcript. It is for one goroutine at a time.
type classifier struct {
	maxResult int  // the longest structured result that is copied into an AIMsg; less than 0 means no limit
	sidechain bool // entries of a sidechain are taken like others: the transcript is that of a subagent
	lean      bool // results of tools are left in parts instead of blocks, for a digest
	// parts are the results of the last entry, if lean is set and it had nothing else.
	parts []part
	// decoder decodes blocks. It is made when it is first needed.
	decoder *wire.Decoder
	// lexer reads the content of messages. It holds no text between entries.
	lexer jsonlex.Lexer
}

// noiseEmpty is the name of entries that say nothing.
const noiseEmpty = "empty"

// classify returns what an entry means, or nil and the name under which it is counted as noise. The
// name is the type, or the type and subtype, such as "system:turn_duration".
func (c *classifier) classify(e *Entry) (msg ClassifiedMsg, noise string) {
	if e.IsSidechain && !c.sidechain {
		return nil, "sidechain"
	}
	switch e.Type {
	case "user":
		return c.user(e)
	case "assistant":
		return c.assistant(e)
	case "system":
		return classifySystem(e)
	case "attachment":
		return c.attachment(e)
	case "":
		return nil, "untyped"
	}
	return nil, noiseName("", e.Type)
}

// noiseName returns the name of noise of a kind that the agent has named. A long name becomes
// "other", so that a strange file cannot fill the memory with names.
func noiseName(prefix, kind string) string {
	const longest = 60
	switch {
	case kind == "":
		return prefix + "untyped"
	case len(kind) > longest:
		return prefix + "other"
	case prefix == "":
		return kind
	}
	return prefix + kind
}

// blocks decodes the content of a message. A string in a list is a text block, and so is a content
// that is neither a string nor a list.
func (c *classifier) blocks(content []byte) wire.Content {
	if c.decoder == nil {
		c.decoder = wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	}
	blocks, err := c.decoder.Content(content)
	if err != nil {
		return wire.Content{&wire.TextBlock{Text: string(content)}}
	}
	for i, b := range blocks {
		if bad, ok := b.(*wire.InvalidBlock); ok {
			if text, ok := bareText(bad.Raw()); ok {
				blocks[i] = &wire.TextBlock{Text: text}
			}
		}
	}
	return blocks
}

// valueAt returns the value at a path of names in an object, or nil.
func valueAt(object []byte, path ...string) []byte {
	for _, name := range path {
		object = jsonlex.Lookup(object, 0, name)
	}
	return object
}

// textAt returns the string at a path of names, or "".
func textAt(object []byte, path ...string) string {
	text, _ := jsonlex.Unquote(valueAt(object, path...))
	return string(text)
}

// firstText returns the first string that is not empty of those at the names.
func firstText(object []byte, names ...string) string {
	for _, name := range names {
		if text := textAt(object, name); text != "" {
			return text
		}
	}
	return ""
}

// intAt returns the number at a path of names, without its fraction. It returns 0 for a number that
// is negative or does not fit into an int.
func intAt(object []byte, path ...string) int {
	var l jsonlex.Lexer
	l.Reset(valueAt(object, path...))
	n := l.Float()
	if l.Err() != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// trueAt reports whether the value at a path of names is true.
func trueAt(object []byte, path ...string) bool { return string(valueAt(object, path...)) == "true" }

// textsAt returns the elements of the list at a path of names: strings, and other values as JSON.
func textsAt(object []byte, path ...string) []string {
	var l jsonlex.Lexer
	l.Reset(valueAt(object, path...))
	if l.Peek() != '[' {
		return nil
	}
	var texts []string
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		value := l.Skip()
		if text, ok := jsonlex.Unquote(value); ok {
			value = text
		}
		texts = append(texts, string(value))
	}
	return texts
}

// bareText returns what a JSON string says.
func bareText(value string) (string, bool) {
	text, ok := jsonlex.Unquote([]byte(value))
	return string(text), ok
}

// classifySystem classifies what the agent says of itself.
func classifySystem(e *Entry) (ClassifiedMsg, string) {
	switch e.Subtype {
	case "compact_boundary":
		return compactBoundary(e), ""
	case "api_error":
		return &SystemMsg{Timestamp: e.Timestamp, Output: apiError(e.Raw), IsError: true}, ""
	case "stop_hook_summary":
		return stopHooks(e)
	case "turn_duration", "microcompact_boundary", "init", "bridge_status", "thinking":
		return nil, noiseName("system:", e.Subtype)
	case "", "local_command":
		return localCommand(e)
	}
	text := systemText(e)
	if text == "" {
		text = systemSentence(e)
	}
	if text == "" {
		return nil, noiseName("system:", e.Subtype)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: errorLevel(e)}, ""
}

// errorLevel reports whether the agent marked a system entry as an error.
func errorLevel(e *Entry) bool { return textAt(e.Raw, "level") == "error" }

// systemText returns the content of a system entry, if it is text.
func systemText(e *Entry) string {
	p, _ := new(classifier).readPrompt(e.Content)
	return trimOutput(p.text)
}

// compactBoundary returns the message for the place where a conversation was compacted.
func compactBoundary(e *Entry) *CompactMsg {
	meta := []byte(e.CompactMetadata)
	return &CompactMsg{
		Timestamp: e.Timestamp, Text: systemText(e), Trigger: textAt(meta, "trigger"),
		PreTokens: intAt(meta, "preTokens"), PostTokens: intAt(meta, "postTokens"),
		Duration: time.Duration(intAt(meta, "durationMs")) * time.Millisecond,
	}
}

// localCommand classifies a command that the agent runs itself, such as /model, or what it printed.
// The oldest entries, which have no subtype, are such or plain text.
func localCommand(e *Entry) (ClassifiedMsg, string) {
	text := systemText(e)
	switch entryfacts.LeadingTag(text) {
	case "command-name", "command-message", "command-args":
		if command, _ := entryfacts.TypedCommand(text); command != "" {
			return &UserMsg{Timestamp: e.Timestamp, Text: command, PermissionMode: e.PermissionMode}, ""
		}
	case "local-command-stdout", "local-command-stderr":
		return printed(e, text, "local-command")
	}
	if text = Sanitize(text); text == "" {
		return nil, noiseName("system:", e.Subtype)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: errorLevel(e)}, ""
}

// stopHooks classifies the report on the hooks that ran at the end of a turn: only trouble is worth
// a message.
func stopHooks(e *Entry) (ClassifiedMsg, string) {
	msg := &SystemMsg{Timestamp: e.Timestamp}
	if errs := textsAt(e.Raw, "hookErrors"); errs != nil {
		msg.Output, msg.IsError = "Stop hook error: "+strings.Join(errs, "\n"), true
	}
	if trueAt(e.Raw, "preventedContinuation") {
		msg.Output = joinLines(msg.Output, sentence("Stop hook stopped the agent", textAt(e.Raw, "stopReason")))
	}
	if msg.Output == "" {
		return nil, "system:stop_hook_summary"
	}
	return msg, ""
}

// systemSentence describes a system entry without text, or returns "" if its kind is not known.
func systemSentence(e *Entry) string {
	switch e.Subtype {
	case "scheduled_task_fire":
		return sentence("Scheduled task started", textAt(e.Raw, "prompt"))
	case "memory_saved":
		return sentence("Memory saved", strings.Join(textsAt(e.Raw, "writtenPaths"), ", "))
	case "permission_retry":
		return sentence("Allowed on a second try", strings.Join(textsAt(e.Raw, "commands"), ", "))
	case "model_refusal_fallback":
		from, to := textAt(e.Raw, "originalModel"), textAt(e.Raw, "fallbackModel")
		if from == "" || to == "" {
			return "The model declined to answer, another took over"
		}
		return fmt.Sprintf("%s declined to answer, %s took over", from, to)
	}
	return ""
}

// sentence returns a statement with its detail, if there is one.
func sentence(statement, detail string) string {
	if detail == "" {
		return statement
	}
	return statement + ": " + detail
}

// attachment classifies what the agent attached to a prompt. Most of it is context for the model.
func (c *classifier) attachment(e *Entry) (ClassifiedMsg, string) {
	if e.AttachmentType == queuedCommand {
		return c.queued(e)
	}
	text, isError := attachmentNotice(e)
	if text == "" {
		return nil, noiseName("attachment:", e.AttachmentType)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: isError}, ""
}

// queuedCommand is the type of the attachment for a prompt that came while the agent worked.
const queuedCommand = "queued_command"

// queued classifies a prompt that the user or the host sent while the agent worked.
func (c *classifier) queued(e *Entry) (ClassifiedMsg, string) {
	p, ok := c.readPrompt(valueAt(e.Attachment, "prompt"))
	if !ok {
		return c.sentBack(e, c.blocks(p.content)), ""
	}
	p.queued, p.meta = true, trueAt(e.Attachment, "isMeta")
	return c.prompt(e, p)
}

// attachmentNotice returns the text of an attachment for the user, or "" if it has none.
func attachmentNotice(e *Entry) (text string, isError bool) {
	a := []byte(e.Attachment)
	switch e.AttachmentType {
	case "hook_blocking_error", "hook_non_blocking_error", "hook_error_during_execution":
		return sentence(hookName(a)+" hook error", hookText(a)), true
	case "hook_system_message":
		if text := hookText(a); text != "" {
			return hookName(a) + " hook: " + text, false
		}
	case "max_turns_reached":
		switch most := intAt(a, "maxTurns"); most {
		case 0:
			return "Reached the limit of turns", false
		case 1:
			return "Reached the limit of 1 turn", false
		default:
			return fmt.Sprintf("Reached the limit of %d turns", most), false
		}
	case "goal_status":
		if trueAt(a, "met") {
			return sentence("Goal met", textAt(a, "condition")), false
		}
		return sentence("Goal not met yet", textAt(a, "condition")), false
	}
	return "", false
}

// hookName returns the name of the hook, such as "PreToolUse:Bash", or "A" so that a sentence about
// it can start with "A hook".
func hookName(attachment []byte) string {
	if name := firstText(attachment, "hookName", "hookEvent"); name != "" {
		return name
	}
	return "A"
}

// hookText returns what a hook said.
func hookText(attachment []byte) string {
	if text := textAt(attachment, "blockingError", "blockingError"); text != "" {
		return trimOutput(text)
	}
	return trimOutput(firstText(attachment, "blockingError", "content", "stderr", "stdout", "error", "message"))
}

// apiError describes the failure of an API call in a sentence, as in "API error 529:
// Overloaded (retry 1 of 10 in 515ms)".
func apiError(entry []byte) string {
	text := "API error"
	if status := intAt(entry, "error", "status"); status != 0 {
		text = fmt.Sprintf("%s %d", text, status)
	}
	text = sentence(text, strings.TrimPrefix(apiErrorReason(entry), fmt.Sprint(intAt(entry, "error", "status"), " ")))
	attempt := intAt(entry, "retryAttempt")
	if attempt == 0 {
		return text
	}
	retry := fmt.Sprintf("retry %d", attempt)
	if most := intAt(entry, "maxRetries"); most != 0 {
		retry = fmt.Sprintf("%s of %d", retry, most)
	}
	if wait := intAt(entry, "retryInMs"); wait != 0 {
		retry = fmt.Sprintf("%s in %v", retry, time.Duration(wait)*time.Millisecond)
	}
	return text + " (" + retry + ")"
}

// apiErrorReason returns the message that is nearest to the API's own words.
func apiErrorReason(entry []byte) string {
	for _, path := range [][]string{
		{"error", "error", "error", "message"},
		{"error", "error", "message"},
		{"error", "formatted"},
		{"error", "message"},
		{"error"},
		{"cause", "message"},
		{"cause", "code"},
		{"cause"},
		{"error", "error", "error", "type"},
		{"error", "error", "type"},
		{"error", "cause", "code"},
		{"error", "type"},
	} {
		if text := textAt(entry, path...); text != "" {
			return text
		}
	}
	return ""
}
