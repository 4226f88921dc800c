package main

import "encoding/json"

// A content is a string or a list of blocks; a string becomes one text block.
type content []block

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]block)(c))
	}
	b := new(textBlock)
	*c = content{{b}}
	return json.Unmarshal(data, &b.Text)
}

// A block holds a pointer to the struct of its kind.
type block struct{ value any }

func (b *block) UnmarshalJSON(data []byte) error {
	switch kind, _ := peek(data); string(kind) {
	case "text":
		b.value = new(textBlock)
	case "thinking":
		b.value = new(thinkingBlock)
	case "redacted_thinking":
		b.value = new(redactedBlock)
	case "tool_use":
		b.value = new(toolUseBlock)
	case "tool_result":
		b.value = new(toolResultBlock)
	case "image":
		b.value = new(imageBlock)
	default:
		b.value = new(json.RawMessage)
	}
	return json.Unmarshal(data, b.value)
}

type textBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type redactedBlock struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResultBlock struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   *bool           `json:"is_error"`

	decoded content
}

type imageBlock struct {
	Type   string `json:"type"`
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

type streamEventFrame struct {
	Type            string  `json:"type"`
	Event           event   `json:"event"`
	SessionID       string  `json:"session_id"`
	ParentToolUseID string  `json:"parent_tool_use_id"`
	UUID            string  `json:"uuid"`
	TTFT            float64 `json:"ttft_ms"`
	ThinkingDisplay string  `json:"thinking_display"`
	APIMessageID    string  `json:"api_message_id"`
}

// An event holds a pointer to the struct of its kind.
type event struct{ value any }

func (e *event) UnmarshalJSON(data []byte) error {
	switch kind, _ := peek(data); string(kind) {
	case "message_start":
		e.value = new(messageStart)
	case "content_block_start":
		e.value = new(blockStart)
	case "content_block_delta":
		e.value = new(blockDelta)
	case "content_block_stop":
		e.value = new(blockStop)
	case "message_delta":
		e.value = new(messageDelta)
	case "message_stop":
		e.value = new(messageStop)
	default:
		e.value = new(json.RawMessage)
	}
	return json.Unmarshal(data, e.value)
}

type messageStart struct {
	Type    string     `json:"type"`
	Message apiMessage `json:"message"`
}

type blockStart struct {
	Type         string `json:"type"`
	Index        int    `json:"index"`
	ContentBlock block  `json:"content_block"`
}

type blockDelta struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta delta  `json:"delta"`
}

// A delta has the fields of every kind: there are few, and one more
// UnmarshalJSON would cost encoding/json one more scan.
type delta struct {
	Type            string          `json:"type"`
	Text            string          `json:"text"`
	Thinking        string          `json:"thinking"`
	Signature       string          `json:"signature"`
	PartialJSON     string          `json:"partial_json"`
	EstimatedTokens *int            `json:"estimated_tokens"`
	Citation        json.RawMessage `json:"citation"`
}

type blockStop struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type messageDelta struct {
	Type  string `json:"type"`
	Delta struct {
		StopReason   string          `json:"stop_reason"`
		StopSequence string          `json:"stop_sequence"`
		StopDetails  json.RawMessage `json:"stop_details"`
		Container    json.RawMessage `json:"container"`
	} `json:"delta"`
	Usage             usage           `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management"`
}

type messageStop struct {
	Type string `json:"type"`
}
