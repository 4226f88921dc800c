package simmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Request is one HTTP request to a [Model]. It is not changed after it was recorded, and must not
// be. Package clewtest describes the fields.
type Request struct {
	Method   string
	Host     string
	Path     string
	RawQuery string
	Header   http.Header
	Body     []byte

	Model     string
	MaxTokens int
	Stream    bool
	System    wire.Content
	Messages  []Message
	Tools     []Tool

	background bool
	refused    bool
}

// A Message is one message of the conversation that a [Request] carries.
type Message struct {
	Role    wire.Role
	Content wire.Content
}

// A Tool is a tool that a [Request] offers to the model.
type Tool struct {
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	InputSchema wire.JSON `json:"input_schema"`
}

// requestBody is the JSON of a request for an answer.
type requestBody struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	System       wire.JSON     `json:"system"`
	Messages     []messageBody `json:"messages"`
	Tools        []Tool        `json:"tools"`
	OutputConfig outputConfig  `json:"output_config"`
}

// messageBody is the JSON of a message. Its content is a string or a list of blocks.
type messageBody struct {
	Role    wire.Role `json:"role"`
	Content wire.JSON `json:"content"`
}

// decodeContent is wire.DecodeContent, but returns nil for an absent content.
func decodeContent(raw wire.JSON) (wire.Content, error) {
	if raw == "" || raw == "null" {
		return nil, nil
	}
	return wire.DecodeContent(raw)
}

// decode fills the fields that are read from the body.
func (r *Request) decode() error {
	var body requestBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	r.Model, r.MaxTokens, r.Stream, r.Tools = body.Model, body.MaxTokens, body.Stream, body.Tools
	var err error
	if r.System, err = decodeContent(body.System); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, msg := range body.Messages {
		content, err := decodeContent(msg.Content)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		r.Messages = append(r.Messages, Message{msg.Role, content})
	}
	r.background = r.isBackground(&body)
	return nil
}

// FromConversation reports whether r asks for an answer in a conversation.
func (r *Request) FromConversation() bool { return r.forAnswer() && !r.background }

// Background reports whether Claude Code made the request on its own behalf, beside the
// conversation.
func (r *Request) Background() bool { return r.background }

// forAnswer reports whether r asks for an answer.
func (r *Request) forAnswer() bool {
	return !r.refused && r.Method == http.MethodPost && strings.TrimSuffix(r.Path, "/") == messagesPath
}

// Turn returns the blocks of the newest user turn: of all user messages after the last answer.
func (r *Request) Turn() wire.Content {
	start := 0
	for i, msg := range r.Messages {
		if msg.Role == wire.RoleAssistant {
			start = i + 1
		}
	}
	var turn wire.Content
	for _, msg := range r.Messages[start:] {
		if msg.Role == wire.RoleUser {
			turn = append(turn, msg.Content...)
		}
	}
	return turn
}

// Prompt returns the text of the newest user turn, its blocks joined by line breaks. It leaves out
// tool results, and the text that Claude Code adds between system-reminder tags.
func (r *Request) Prompt() string {
	var texts []string
	for _, block := range r.Turn() {
		if text, ok := block.(*wire.TextBlock); ok {
			if said := withoutReminders(text.Text); strings.TrimSpace(said) != "" {
				texts = append(texts, said)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// ToolResults returns the tool results in the newest user turn.
func (r *Request) ToolResults() []*wire.ToolResultBlock { return r.Turn().ToolResults() }

// withoutReminders removes reminders from text, with their tags. A tag that is not closed stays.
func withoutReminders(text string) string {
	const begin, end = "<system-reminder>", "</system-reminder>"
	var kept strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			kept.WriteString(text)
			return kept.String()
		}
		kept.WriteString(before)
		text = after
	}
}

// outputConfig is the shape that an answer must have.
type outputConfig struct {
	Format struct {
		Schema struct {
			Properties map[string]wire.JSON `json:"properties"`
		} `json:"schema"`
	} `json:"format"`
}

// probes are the prompts with which Claude Code checks that a key or a model works: "quota" and
// "test" for a key, "Hi" and "." for a model.
var probes = []string{"quota", "test", "Hi", "."}

// isBackground reports whether Claude Code asked on its own behalf. Only requests that are known
// for certain count: a request that merely looks unusual, such as one without tools, may be a turn
// of the conversation.
func (r *Request) isBackground(body *requestBody) bool {
	return strings.HasPrefix(r.Header.Get("User-Agent"), "claude-cli/") &&
		(r.isProbe() || r.isWebSearch() || r.isTitle(&body.OutputConfig))
}

// isProbe reports whether r asks for one token, not streamed, with a fixed word as the whole
// prompt. A turn of the conversation is streamed, and has reminders or tools.
func (r *Request) isProbe() bool {
	return r.MaxTokens == 1 && !r.Stream && len(r.Tools) == 0 && r.alone() && slices.Contains(probes, r.Turn().Text())
}

// isWebSearch reports whether r asks the API to search. The agent's conversations offer its own
// tool WebSearch instead.
func (r *Request) isWebSearch() bool {
	return r.alone() && len(r.Tools) == 1 && strings.HasPrefix(r.Tools[0].Type, "web_search_")
}

// isTitle reports whether r asks for an object with nothing but a title, and its instructions
// mention a title. It can't be the schema that a host gives for its results: that is a tool of the
// conversation.
func (r *Request) isTitle(config *outputConfig) bool {
	properties := config.Format.Schema.Properties
	_, ok := properties["title"]
	return ok && len(properties) == 1 && len(r.Tools) == 0 && r.alone() && strings.Contains(r.System.Text(), "title")
}

// alone reports whether r consists of a single block of text from the user, without a conversation
// before it.
func (r *Request) alone() bool {
	return len(r.Messages) == 1 && r.Messages[0].Role == wire.RoleUser && len(r.Messages[0].Content) == 1
}
