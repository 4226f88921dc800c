package transcript

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// resultPart returns the part for a block that is the result of a tool.
func resultPart(block wire.Block) (part, bool) {
	p := part{kind: partResult}
	switch b := block.(type) {
	case *wire.ToolResultBlock:
		p.id, p.failed = b.ToolUseID, b.Failed()
		p.text, p.images = resultText(b.Content)
	case *wire.MCPToolResultBlock:
		p.id, p.failed = b.ToolUseID, b.Failed()
		p.text, p.images = resultText(b.Content)
	case *wire.WebSearchToolResultBlock:
		pages, err := b.Results()
		p.server(b.ToolUseID, b.Content, pagesText(pages), err)
	case *wire.CodeExecutionToolResultBlock:
		out, err := b.Result()
		p.server(b.ToolUseID, b.Content, out.Stdout+out.Stderr, err)
	case *wire.BashCodeExecutionToolResultBlock:
		out, err := b.Result()
		p.server(b.ToolUseID, b.Content, out.Stdout+out.Stderr, err)
	case *wire.AdvisorToolResultBlock:
		advice, err := b.Result()
		p.server(b.ToolUseID, b.Content, advice.Text, err)
	case *wire.WebFetchToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	case *wire.TextEditorCodeExecutionToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	case *wire.ToolSearchToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	default:
		return part{}, false
	}
	return p, true
}

// server fills in the result of a tool that ran at the API: text if there is any, else its JSON.
func (p *part) server(id string, content wire.JSON, text string, err error) {
	p.id, p.text = id, text
	var failure *wire.ToolError
	if errors.As(err, &failure) {
		p.failed = true
		p.text = strings.TrimPrefix(failure.Error(), "wire: ")
	}
	if p.text == "" {
		p.text = string(content)
	}
}

func pagesText(pages []wire.WebSearchResult) string {
	lines := make([]string, 0, len(pages))
	for i := range pages {
		lines = append(lines, strings.TrimSpace(pages[i].Title+"\n"+pages[i].URL))
	}
	return strings.Join(lines, "\n")
}

// resultText returns the text of a result's content, and how many pictures there are in it. What is no text stays JSON.
func resultText(content wire.JSON) (text string, images int) {
	raw := strings.TrimLeft(string(content), " \t\r\n")
	if plain, ok := plainText(raw); ok {
		return plain, 0
	}
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in there
	defer s.free()
	s.buf = append(s.buf[:0], raw...)
	return s.text(s.buf)
}

// plainText returns the text of a JSON string without escapes, which it shares.
func plainText(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' {
		return "", false
	}
	inner, rest, closed := strings.Cut(raw[1:], `"`)
	return inner, closed && rest == "" && strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner)
}

// text is resultText for bytes, which it does not share.
func (s *scratch) text(content []byte) (text string, images int) {
	content = bytes.TrimLeft(content, " \t\r\n")
	switch {
	case len(content) == 0 || string(content) == "null":
		return "", 0
	case content[0] == '"':
		return s.unquote(content), 0
	case content[0] == '[':
		return s.textOfList(content)
	}
	return string(content), 0
}

// unquote returns what a JSON string stands for, or the string itself if it is none.
func (s *scratch) unquote(raw []byte) string {
	s.list.Reset(raw)
	text := s.list.String()
	s.list.End()
	if s.list.Err() != nil {
		return string(raw)
	}
	return text
}

// textOfList returns the texts of a list of blocks, each from a new line.
func (s *scratch) textOfList(raw []byte) (text string, images int) {
	s.texts = s.texts[:0]
	s.list.Reset(raw)
	for ok := s.list.FirstElem(); ok; ok = s.list.NextElem() {
		block := s.list.Skip()
		switch kind, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "type")); string(kind) {
		case "image":
			images++
		case "document":
			s.texts = append(s.texts, "[Document]")
		case "text":
			s.take(jsonlex.Lookup(block, 0, "text"), block)
		case "tool_reference":
			s.take(jsonlex.Lookup(block, 0, "tool_name"), block)
		default:
			s.take(block, block)
		}
	}
	s.list.End()
	if s.list.Err() != nil {
		return string(raw), 0
	}
	return strings.Join(s.texts, "\n"), images
}

// A scratch is the memory for reading a result.
type scratch struct {
	buf   []byte
	texts []string
	list  jsonlex.Lexer
	value jsonlex.Lexer
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is how much memory a scratch keeps.
const maxScratch = 1 << 20

func (s *scratch) free() {
	s.list.Reset(nil)
	s.value.Reset(nil)
	clear(s.texts)
	s.texts = s.texts[:0]
	if cap(s.buf) > maxScratch {
		s.buf = nil
	}
	scratches.Put(s)
}

// take takes the string that value is, or else the block.
func (s *scratch) take(value, block []byte) {
	s.value.Reset(value)
	if s.value.Peek() == '"' {
		if text := s.value.String(); s.value.Err() == nil {
			s.texts = append(s.texts, text)
			return
		}
	}
	s.texts = append(s.texts, string(block))
}

func startsSubagent(name string) bool { return name == "Task" || name == "Agent" }

// subagentOf returns the type and the description of the subagent that a call starts.
func subagentOf(input wire.JSON) (kind, desc string) {
	data := []byte(input)
	return textAt(data, "subagent_type"), textAt(data, "description")
}
