package search

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Source is the writer of a passage. It separates the words of the user and of the agent from
// other people's text: pages, files and messages that the agent was given.
type Source uint8

// The sources. The zero value is any of them.
const (
	AnySource Source = iota
	// Said are prompts of the user, and answers that the session's own agent gave. Text that the
	// user pasted, or piped into the agent, is a part of the prompt. An answer may repeat what the
	// agent read.
	Said
	// Called are the tool inputs that this agent called.
	Called
	// Other is everything else: tool results, output of commands, thinking, titles, summaries of
	// compactions, messages of other agents and of programs, and all that subagents said and did.
	Other
)

// sourceNames are the names of the sources.
var sourceNames = []string{AnySource: "", Said: "said", Called: "called", Other: "other"}

// String returns said, called or other, and "" for any source.
func (s Source) String() string {
	if int(s) >= len(sourceNames) {
		return ""
	}
	return sourceNames[s]
}

// A Passage is one text of an entry.
type Passage struct {
	Role   Role
	Source Source
	// Tool is the name of the called tool, for a call's input.
	Tool string
	// Call is the ID of the call, for the input and for a tool's result.
	Call string
	Text string
}

// Passages returns the texts of an entry that can be found, in their order. The input of a tool is
// its name, and each of its values on a line. It does not know whether the entry is in the
// transcript of a subagent, unless the entry records it, as most do.
func Passages(e *transcript.Entry) []Passage {
	var list []Passage
	for _, p := range newExtractor().passages(e) {
		list = append(list, Passage{Role: p.role, Source: p.source, Tool: p.tool, Call: p.call, Text: p.text})
	}
	return list
}

// A passage is one text of an entry.
type passage struct {
	role   Role
	source Source
	tool   string // the name of the called tool
	call   string // the ID of the call, also for a result
	turn   bool   // the passage is a prompt that begins a turn
	text   string
}

// An extractor returns the passages of entries. It must not be used by several goroutines at once.
type extractor struct {
	decoder *wire.Decoder
	list    []passage
	foreign bool // the entry is that of a subagent or a teammate
}

func newExtractor() *extractor {
	return &extractor{decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})}
}

// passages returns the texts of an entry that can be searched, always in the same order. The list
// is valid until the next call.
func (d *extractor) passages(e *transcript.Entry) []passage {
	d.list = d.list[:0]
	d.foreign = e.IsSidechain || e.AgentID != "" || isMember(e)
	switch e.Type {
	case "user":
		if e.Message != nil && !d.results(e) {
			d.classified(*e)
		}
	case "assistant":
		if e.Message != nil {
			d.foreign = d.foreign || e.Message.Model == syntheticModel || e.IsAPIErrorMessage
			d.answer(e.Message.Content)
		}
	case "attachment", "system":
		d.classified(*e)
	case "custom-title", "ai-title":
		d.title(e)
	case queueOperation:
		d.classified(transcript.Entry{
			Type: "attachment", AttachmentType: queuedCommand,
			Attachment: fmt.Appendf(nil, `{"type":"queued_command","prompt":%s}`, e.Content),
		})
	}
	return d.list
}

// isMember reports whether an entry marks its session as a teammate's. Only the first entry may do
// that.
func isMember(e *transcript.Entry) bool { return e.TeamName != "" && e.AgentName != "" }

const (
	// queueOperation is the type of entries with prompts that may be in no other entry.
	queueOperation = "queue-operation"
	// queuedCommand is the type of attachments with prompts that came while the agent worked.
	queuedCommand = "queued_command"
	// syntheticModel is the model of texts that the agent made up.
	syntheticModel = "<synthetic>"
)

// add adds a passage. Its source is Other unless it is set, and for text of subagents.
func (d *extractor) add(p passage) {
	if p.source == AnySource || d.foreign {
		p.source = Other
	}
	if strings.TrimSpace(p.text) != "" {
		d.list = append(d.list, p)
	}
}

// title adds the title of the session.
func (d *extractor) title(e *transcript.Entry) {
	var titles struct{ CustomTitle, AITitle string } // of which an entry has one
	if json.Unmarshal(e.Raw, &titles) == nil {
		d.add(passage{role: Title, text: titles.CustomTitle + titles.AITitle})
	}
}

// results adds the tool results and the texts beside them, and reports whether there are any
// results.
func (d *extractor) results(e *transcript.Entry) bool {
	content := e.Message.Content
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return false
	}
	any, texts := false, []string(nil)
	for _, block := range blocks {
		switch b := block.(type) {
		case *wire.ToolResultBlock:
			any = true
			d.add(passage{role: Tool, call: b.ToolUseID, text: d.resultText(b.Content)})
		case *wire.TextBlock:
			texts = append(texts, b.Text)
		}
	}
	if any && len(texts) > 0 {
		d.beside(e, texts)
	}
	return any
}

// beside adds texts of a user's message that also has results, such as text that the user typed
// while a tool ran. They start no turn.
func (d *extractor) beside(e *transcript.Entry, texts []string) {
	content, err := json.Marshal(strings.Join(texts, "\n"))
	if err != nil {
		return
	}
	alone := *e
	message := *e.Message
	message.Content, alone.Message, alone.ToolUseResult = content, &message, nil
	first := len(d.list)
	d.classified(alone)
	for i := range d.list[first:] {
		// The agent may have added it, and does not mark that.
		d.list[first+i].turn, d.list[first+i].source = false, Other
	}
}

// resultText returns the texts of a result.
func (d *extractor) resultText(content wire.JSON) string {
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
	return transcript.AgentReport(strings.Join(texts, "\n"))
}

func (d *extractor) answer(content []byte) {
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *wire.TextBlock:
			d.add(passage{role: Answer, source: Said, text: b.Text})
		case *wire.ThinkingBlock:
			d.add(passage{role: Thinking, text: b.Thinking})
		case *wire.ToolUseBlock:
			d.add(passage{role: Tool, source: Called, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.ServerToolUseBlock:
			d.add(passage{role: Tool, source: Called, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.MCPToolUseBlock:
			d.add(passage{role: Tool, source: Called, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		}
	}
}

// classified adds the text of an entry that a person would see. Text for the model is omitted.
func (d *extractor) classified(e transcript.Entry) {
	sidechain := e.IsSidechain
	e.IsSidechain = false
	msg, _ := transcript.Classify(e)
	switch m := msg.(type) {
	case *transcript.UserMsg:
		p := passage{role: Prompt, turn: !sidechain, text: m.Text}
		if m.Sender == "" && e.SourceToolUseID == "" && typed(&e) {
			p.source = Said
		}
		d.add(p)
	case *transcript.TeammateMsg:
		d.add(passage{role: Prompt, text: m.Text})
	case *transcript.CompactMsg:
		d.add(passage{role: Answer, text: m.Text})
	case *transcript.SystemMsg:
		d.add(passage{role: Tool, text: m.Output + "\n" + m.Stderr})
	}
}

// typed reports whether the user typed all of a prompt: a program of the agent sent no other kind
// of command, and no text of a command follows its tags.
func typed(e *transcript.Entry) bool {
	if e.AttachmentType == queuedCommand {
		var queued struct{ CommandMode string }
		if json.Unmarshal(e.Attachment, &queued) != nil {
			return false
		}
		return queued.CommandMode == "" || queued.CommandMode == "prompt" || queued.CommandMode == "bash"
	}
	if e.Message == nil {
		return e.Type == "system" // a command that the agent runs itself
	}
	var text string
	if json.Unmarshal(e.Message.Content, &text) != nil || !strings.HasPrefix(text, "<command-") {
		return true
	}
	last := text[strings.LastIndex(text, "</command-")+1:]
	_, rest, _ := strings.Cut(last, ">")
	return strings.TrimSpace(rest) == ""
}

// inputText returns the name of a tool and the values of its input, each on a line.
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

// stringEnd returns the end of the string that starts at i.
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
