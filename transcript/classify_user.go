package transcript

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// user classifies what went to the model in the user's name: prompts, results of tools, and what the agent adds.
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

// A prompt is text for the model, and what came with it.
type prompt struct {
	content   []byte // what it was read from
	text      string
	images    int
	documents int
	others    int  // blocks that are none of these
	queued    bool // it was typed while the agent worked
	meta      bool // the agent made it
}

// attachments counts what came with the text.
func (p *prompt) attachments() int { return p.images + p.documents }

// readPrompt reads a content that has text, pictures or documents in it. It returns false for one that has not, and for
// results of tools.
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

// readBlocks reads the list that comes next. It stops at the result of a tool.
func (p *prompt) readBlocks(l *jsonlex.Lexer) bool {
	var texts []string
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
	p.text = strings.Join(texts, "\n")
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

// prompt classifies a prompt.
func (c *classifier) prompt(e *Entry, p prompt) (ClassifiedMsg, string) {
	if e.IsCompactSummary || strings.HasPrefix(p.text, continued) {
		return &CompactMsg{Timestamp: e.Timestamp, Summary: true, Text: own(Sanitize(p.text), p.text)}, ""
	}
	text, added := cutAdded(p.text)
	if text == "" && p.attachments() == 0 {
		return nil, added
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
		Images: p.images, Documents: p.documents, Queued: p.queued,
	}, ""
}

// continued begins the summary of a conversation that was compacted, also in versions that don't mark it.
const continued = "This session is being continued from a previous conversation that ran out of context"

// promptBlocks returns a prompt as blocks.
func (c *classifier) promptBlocks(p prompt) wire.Content {
	if p.attachments()+p.others == 0 {
		return wire.Content{&wire.TextBlock{Text: p.text}}
	}
	return c.blocks(p.content)
}

// placeholder returns what to show for a prompt without text, such as "[Image]" or "[2 images, document]".
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
