package index

import (
	"encoding/json"
	"strings"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A passage is a text of an entry.
type passage struct {
	role Role
	tool string // the name of the tool that is called
	call string // the ID of a call, or of the one whose result this is
	turn bool   // it is a prompt that begins a turn
	text string
}

// A dissector takes entries apart. It is for one goroutine at a time.
type dissector struct {
	decoder *wire.Decoder
	list    []passage
}

func newDissector() *dissector {
	return &dissector{decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})}
}

// passages returns the texts of an entry that people search in, always in the same
// order. The list is valid until the next call.
func (d *dissector) passages(e *transcript.Entry) []passage {
	d.list = d.list[:0]
	switch e.Type {
	case "user":
		if e.Message != nil && !d.results(e.Message.Content) {
			d.classified(*e)
		}
	case "assistant":
		if e.Message != nil {
			d.answer(e.Message.Content)
		}
	case "attachment", "system":
		d.classified(*e)
	}
	return d.list
}

func (d *dissector) add(p passage) {
	if strings.TrimSpace(p.text) != "" {
		d.list = append(d.list, p)
	}
}

// results takes results of tools, and reports false if there is none.
func (d *dissector) results(content []byte) bool {
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return false
	}
	any := false
	for _, block := range blocks {
		if b, ok := block.(*wire.ToolResultBlock); ok {
			any = true
			d.add(passage{role: Tool, call: b.ToolUseID, text: d.resultText(b.Content)})
		}
	}
	return any
}

// resultText returns the texts of a result.
func (d *dissector) resultText(content wire.JSON) string {
	blocks, err := d.decoder.Content([]byte(content))
	if err != nil {
		return ""
	}
	var texts []string
	for _, block := range blocks {
		if b, ok := block.(*wire.TextBlock); ok {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (d *dissector) answer(content []byte) {
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *wire.TextBlock:
			d.add(passage{role: Answer, text: b.Text})
		case *wire.ThinkingBlock:
			d.add(passage{role: Thinking, text: b.Thinking})
		case *wire.ToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.ServerToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.MCPToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		}
	}
}

// classified takes what a person would see of the entry. What only the model was
// told is left out.
func (d *dissector) classified(e transcript.Entry) {
	sidechain := e.IsSidechain
	e.IsSidechain = false
	msg, _ := transcript.Classify(e)
	switch m := msg.(type) {
	case *transcript.UserMsg:
		d.add(passage{role: Prompt, turn: !sidechain, text: m.Text})
	case *transcript.TeammateMsg:
		d.add(passage{role: Prompt, text: m.Text})
	case *transcript.CompactMsg:
		d.add(passage{role: Answer, text: m.Text})
	case *transcript.SystemMsg:
		d.add(passage{role: Tool, text: m.Output + "\n" + m.Stderr})
	}
}

// inputText returns the name of a tool and the values of its input, each on a
// line.
func inputText(name string, input wire.JSON) string {
	var b strings.Builder
	b.WriteString(name)
	text := string(input)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			if !isKey(text[end:]) {
				b.WriteByte('\n')
				writeString(&b, text[i:end])
			}
			i = end
		case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			end := i + 1
			for end < len(text) && !strings.ContainsRune(",]} \t\r\n", rune(text[end])) {
				end++
			}
			b.WriteString("\n" + text[i:end])
			i = end
		default:
			i++
		}
	}
	return b.String()
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func isKey(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func writeString(b *strings.Builder, quoted string) {
	if !strings.Contains(quoted, `\`) && len(quoted) > 1 {
		b.WriteString(quoted[1 : len(quoted)-1])
		return
	}
	var s string
	if json.Unmarshal([]byte(quoted), &s) == nil {
		b.WriteString(s)
	}
}
