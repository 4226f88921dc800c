package clewtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Request is one that a [Model] has received. It is not changed after it was recorded, and must not be.
type Request struct {
	Method string
	// Host is the host that the client meant to reach, with its port. Unless it is this machine, the model was taken
	// for a proxy, see [Model.Env], and refused.
	Host string
	// Path is the path alone; the query is in RawQuery.
	Path     string
	RawQuery string
	Header   http.Header
	// Body is what was sent, byte for byte. The fields below are read from it, where it is a request for an answer or
	// a token count, and otherwise zero.
	Body []byte

	Model     string
	MaxTokens int
	Stream    bool
	// System is the system prompt. Since Claude Code also puts instructions into Messages, with the role "system",
	// it need not be all of it.
	System   wire.Content
	Messages []RequestMessage
	Tools    []RequestTool

	background bool
	refused    bool
}

// A RequestMessage is one message of the conversation that a [Request] carries.
type RequestMessage struct {
	Role    wire.Role
	Content wire.Content
}

// A RequestTool is a tool that a [Request] offers to the model.
type RequestTool struct {
	// Type is empty for a tool that the client runs, or "custom", and otherwise names a tool of the API, such as
	// web_search_20250305.
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
	Tools        []RequestTool `json:"tools"`
	OutputConfig outputConfig  `json:"output_config"`
}

// messageBody is the JSON of a message of a conversation. Its content is a string or a list of blocks.
type messageBody struct {
	Role    wire.Role `json:"role"`
	Content wire.JSON `json:"content"`
}

// decodeContent is wire.DecodeContent, with nil for a content that is not there.
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
		r.Messages = append(r.Messages, RequestMessage{msg.Role, content})
	}
	r.background = r.aside(&body)
	return nil
}

// fromConversation reports whether r asks for an answer in a conversation.
func fromConversation(r *Request) bool { return r.forAnswer() && !r.background }

// forAnswer reports whether r asks for an answer.
func (r *Request) forAnswer() bool {
	return !r.refused && r.Method == http.MethodPost && strings.TrimSuffix(r.Path, "/") == messagesPath
}

// Turn returns the blocks of the newest user turn: all that users said after the last answer.
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

// Prompt returns the text of the newest user turn, its blocks joined by line breaks. What Claude Code adds between
// system-reminder tags is left out, and so are the results of tools: it is "" for a turn that brings nothing else.
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

// ToolResults returns the results of tools that the newest user turn brings.
func (r *Request) ToolResults() []*wire.ToolResultBlock { return r.Turn().ToolResults() }

// withoutReminders returns text without what stands between the tags of a reminder. A tag that is not closed stays.
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
