package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// user classifies content that went to the model in the user's name: prompts, tool results, and the
// agent's additions.
func (c *classifier) user(e *Entry) (ClassifiedMsg, string) {
	if e.Message == nil {
		return nil, noiseEmpty
	}
	p, ok := c.readPrompt(e.Message.Content)
	if !ok {
		return c.results(e), ""
	}
	p.meta = e.IsMeta
	return c.prompt(e, p)
}

// A prompt is text for the model, with its attachments.
type prompt struct {
	content   []byte   // what it was read from
	text      string   // all texts, each from a new line
	texts     []string // of the blocks, if there are several
	images    int
	documents int
	others    int  // blocks that are none of these
	queued    bool // it was typed while the agent worked
	meta      bool // the agent made it
}

// attachments counts what came with the text.
func (p *prompt) attachments() int { return p.images + p.documents }

// readPrompt reads a content that has text, pictures or documents in it. It returns false for one
// that has not, and for tool results.
func (c *classifier) readPrompt(content []byte) (prompt, bool) {
	l := &c.lexer
	l.Reset(content)
	defer l.Reset(nil)
	p := prompt{content: content}
	switch l.Peek() {
	case '"':
		p.text = l.String()
		return p, true
	case '[':
		ok := p.readBlocks(l)
		return p, ok
	}
	return p, len(content) == 0 || l.Null()
}

// readBlocks reads the list that comes next. It stops at a tool's result. It returns false if the
// content goes to the model as something else than a prompt.
func (p *prompt) readBlocks(l *jsonlex.Lexer) bool {
	texts := p.texts
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		if l.Peek() == '"' {
			texts = append(texts, l.String())
			continue
		}
		kind, _ := jsonlex.Unquote(jsonlex.Lookup(p.content, l.Pos(), "type"))
		if string(kind) == "tool_result" {
			return false
		}
		switch string(kind) {
		case "text":
			texts = append(texts, readText(l))
		case "image":
			p.images++
			l.Skip()
		case "document":
			p.documents++
			l.Skip()
		default:
			p.others++
			if valueAt(l.Skip(), "tool_use_id") != nil {
				return false
			}
		}
	}
	p.text, p.texts = strings.Join(texts, "\n"), texts
	return l.Err() == nil && (p.others == 0 || p.text != "" || p.attachments() > 0)
}

// readText reads the text block that comes next.
func readText(l *jsonlex.Lexer) string {
	text := ""
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		if string(key) == "text" {
			readString(l, &text)
		} else {
			l.Skip()
		}
	}
	return text
}

// prompt classifies a prompt. The order of the tests matters: a summary, then text between tags of
// the agent, then text that only the model gets, then the user's words.
func (c *classifier) prompt(e *Entry, p prompt) (ClassifiedMsg, string) {
	if e.IsCompactSummary || strings.HasPrefix(p.text, continued) {
		return &CompactMsg{Timestamp: e.Timestamp, Summary: true, Text: own(summaryText(p.text), p.text)}, ""
	}
	text, added := p.cutAdded()
	if strings.HasPrefix(text, continued) {
		return &CompactMsg{Timestamp: e.Timestamp, Summary: true, Text: own(text, p.text)}, ""
	}
	if text == "" && p.attachments() == 0 {
		return nil, cmp.Or(added, noiseEmpty)
	}
	if msg, noise := wrapped(e, text); msg != nil || noise != "" {
		return msg, noise
	}
	if p.meta {
		return c.sentBack(e, c.promptBlocks(p)), ""
	}
	shown := Sanitize(text)
	switch {
	case shown != "":
	case p.attachments() > 0:
		shown = p.placeholder()
	default:
		return nil, noiseEmpty
	}
	return &UserMsg{
		Timestamp: e.Timestamp, Text: own(shown, p.text), PermissionMode: e.PermissionMode,
		Images: p.images, Documents: p.documents, Queued: p.queued, Sender: sender(e),
	}, ""
}

// sender returns who sent a prompt, or "" for the user.
func sender(e *Entry) string {
	for _, kind := range []string{textAt(e.Raw, "origin", "kind"), textAt(e.Attachment, "origin", "kind")} {
		if kind != "" && kind != "human" {
			return kind
		}
	}
	const system = "system"
	if textAt(e.Raw, "promptSource") == system {
		return system
	}
	return ""
}

// cutAdded cuts what was added to the prompt from the edges of each block.
func (p *prompt) cutAdded() (text, kind string) {
	if len(p.texts) < 2 {
		return entryfacts.CutAdded(p.text)
	}
	return entryfacts.CutAddedBlocks(p.texts)
}

// continued is the prefix of the summary of a compacted conversation, including in versions that
// don't mark it.
const continued = "This session is being continued from a previous conversation"

// summaryText returns the summary of a conversation, without reminders at its edges and after the
// sentence that the agent starts it with. The rest may quote a person.
func summaryText(text string) string {
	text = Sanitize(text)
	intro, rest, ok := strings.Cut(text, "\n\n")
	if !ok || !strings.HasPrefix(intro, continued) || entryfacts.LeadingTag(rest) != entryfacts.Reminder {
		return text
	}
	if _, after, closed := entryfacts.CutElement(rest, entryfacts.Reminder); closed {
		return intro + "\n\n" + after
	}
	return text
}

// promptBlocks returns a prompt as blocks.
func (c *classifier) promptBlocks(p prompt) wire.Content {
	if p.attachments()+p.others == 0 {
		return wire.Content{&wire.TextBlock{Text: p.text}}
	}
	return c.blocks(p.content)
}

// placeholder returns what to show for a prompt without text, such as "[Image]" or "[2 images,
// document]".
func (p *prompt) placeholder() string {
	var parts []string
	for _, part := range []struct {
		n    int
		noun string
	}{{p.images, "image"}, {p.documents, "document"}} {
		switch {
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", part.n, part.noun))
		case part.n == 1:
			parts = append(parts, part.noun)
		}
	}
	text := strings.Join(parts, ", ")
	return "[" + strings.ToUpper(text[:1]) + text[1:] + "]"
}

// own returns part, which lies in whole, so that it does not hold on to a much longer text.
func own(part, whole string) string {
	if len(part) < len(whole)/2 {
		return strings.Clone(part)
	}
	return part
}

// wrapped classifies the text of a prompt that is not the user's own words, but was wrapped by the
// agent. It returns neither a message nor noise for any other text.
func wrapped(e *Entry, text string) (ClassifiedMsg, string) {
	if kind := entryfacts.OutputTag(entryfacts.LeadingTag(text)); kind != "" {
		return printed(e, text, kind)
	}
	if entryfacts.IsNotification(text) {
		return notification(e, text)
	}
	if strings.HasPrefix(text, entryfacts.StopHook) {
		return &SystemMsg{Timestamp: e.Timestamp, Output: own(Sanitize(text), text)}, ""
	}
	return teammates(e, text)
}

// printed classifies what a command printed, between tags whose names start with kind. There may be
// several such elements, one after the other.
func printed(e *Entry, text, kind string) (ClassifiedMsg, string) {
	var out, errs []string
	whole := text
	for {
		text = strings.TrimSpace(text)
		name := entryfacts.LeadingTag(text)
		if entryfacts.OutputTag(name) != kind {
			out = append(out, own(text, whole))
			return commandOutput(e, joinLines(out...), joinLines(errs...))
		}
		var inner string
		inner, text, _ = entryfacts.CutElement(text, name)
		inner = own(trimOutput(inner), whole)
		if strings.HasSuffix(name, "stdout") {
			out = append(out, inner)
		} else {
			errs = append(errs, inner)
		}
	}
}

// commandOutput returns the message for the output of a command. Standard error is the output if
// there is nothing else, and marks the command as failed in any case.
func commandOutput(e *Entry, out, errs string) (ClassifiedMsg, string) {
	failed := errs != ""
	if out == "" {
		out, errs = errs, ""
	}
	if out == "" {
		return nil, noiseEmpty
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: out, Stderr: errs, IsError: failed}, ""
}

// joinLines joins the texts that are not empty.
func joinLines(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, "\n")
}

// notification classifies the reports of tasks in the background. There may be several in one
// prompt; a killed task makes the message an error.
func notification(e *Entry, text string) (ClassifiedMsg, string) {
	var summaries []string
	var tasks []TaskReport
	killed := false
	for entryfacts.IsNotification(text) {
		var inner string
		inner, text, _ = entryfacts.CutElement(text, entryfacts.NotificationTag)
		text = strings.TrimSpace(text)
		summary := entryfacts.Element(inner, "summary")
		if summary == "" {
			summary = withoutTags(inner)
		}
		task := readTaskReport(inner)
		task.Time, task.Summary = e.Timestamp, own(summary, inner)
		tasks, summaries = append(tasks, task), append(summaries, task.Summary)
		killed = killed || task.Status == taskKilled
	}
	all := joinLines(summaries...)
	if all == "" {
		return nil, noiseEmpty
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: all, IsError: killed, Tasks: tasks}, ""
}

// readTaskReport reads the text of a task-notification element, except its summary. The answer of a
// subagent stands before the usage, and may have tags in it.
func readTaskReport(inner string) TaskReport {
	head, rest, found := strings.Cut(inner, "<result>")
	task := TaskReport{
		TaskID:    strings.Clone(entryfacts.Element(head, "task-id")),
		ToolUseID: strings.Clone(entryfacts.Element(head, "tool-use-id")),
		Status:    strings.Clone(entryfacts.Element(head, "status")),
	}
	tail := inner
	if end := strings.LastIndex(rest, "</result>"); found && end >= 0 {
		task.Result, tail = strings.TrimSpace(strings.Clone(rest[:end])), rest[end:]
	}
	if ms, err := strconv.ParseInt(entryfacts.Element(tail, "duration_ms"), 10, 64); err == nil && ms > 0 {
		task.DurationMs = ms
	}
	return task
}

const teammateTag = "teammate-message"

// teammates classifies messages of other agents of a team. Several in one prompt make one message,
// under the name of the first; messages that only keep the team running are noise. It returns
// neither a message nor noise for any other text.
func teammates(e *Entry, text string) (ClassifiedMsg, string) {
	var msg *TeammateMsg
	var texts []string
	noise := ""
	for {
		next, rest, ok := cutTeammate(text)
		if !ok {
			break
		}
		text = strings.TrimSpace(rest)
		switch kind := protocolKind(next.Text); {
		case kind != "":
			noise = "teammate:" + kind
			continue
		case msg == nil:
			msg = next
		case next.TeammateID != msg.TeammateID:
			next.Text = next.TeammateID + ": " + next.Text
		}
		texts = append(texts, next.Text)
	}
	if msg == nil {
		return nil, noise
	}
	msg.Timestamp, msg.Text = e.Timestamp, strings.Join(texts, "\n\n")
	return msg, ""
}

// cutTeammate cuts a teammate's message from the start of text.
func cutTeammate(text string) (msg *TeammateMsg, rest string, ok bool) {
	const start = "<" + teammateTag
	if len(text) <= len(start) || text[len(start)] > ' ' || !strings.EqualFold(text[:len(start)], start) {
		return nil, text, false
	}
	attributes, inner, ok := cutAttributes(text)
	id := attributes["teammate_id"]
	if !ok || id == "" {
		return nil, text, false
	}
	if end := entryfacts.IndexEnd(inner, teammateTag); end >= 0 {
		inner, rest = inner[:end], inner[end+entryfacts.EndTag(inner[end:], teammateTag):]
	}
	return &TeammateMsg{
		Text: own(Sanitize(inner), text), TeammateID: strings.Clone(id),
		Color: strings.Clone(attributes["color"]), Summary: strings.Clone(attributes["summary"]),
	}, rest, true
}

// protocolKind returns the type of a message that agents of a team send by themselves, or "".
func protocolKind(text string) string {
	if !strings.HasPrefix(text, "{") {
		return ""
	}
	kind, _ := jsonlex.Unquote(jsonlex.Lookup([]byte(text), 0, "type"))
	switch string(kind) {
	case "idle_notification", "shutdown_approved", "shutdown_request", "teammate_terminated", "task_assignment":
		return string(kind)
	}
	return ""
}
