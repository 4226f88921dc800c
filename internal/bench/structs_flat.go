package main

import "encoding/json"

// intoFlatStructs is the fastest use of encoding/json that still names every
// field: a block is one struct with the fields of every kind of block, and so is
// an event. Each UnmarshalJSON that this saves is a scan saved, and the caller
// pays with values whose kind the compiler does not know.
func intoFlatStructs(line []byte) (any, error) {
	var v any
	switch kind, _ := peek(line); string(kind) {
	case "assistant":
		v = new(flatAssistantFrame)
	case "user":
		v = new(flatUserFrame)
	case "stream_event":
		v = new(flatStreamEventFrame)
	default:
		return intoStructs(line)
	}
	return v, json.Unmarshal(line, v)
}

type flatAssistantFrame struct {
	assistantFrame
	Message flatMessage `json:"message"`
}

type flatUserFrame struct {
	userFrame
	Message struct {
		Role    string      `json:"role"`
		Content flatContent `json:"content"`
	} `json:"message"`
}

type flatStreamEventFrame struct {
	streamEventFrame
	Event flatEvent `json:"event"`
}

type flatMessage struct {
	apiMessage
	Content []flatBlock `json:"content"`
}

// A flatContent is a string or a list: the one union that a struct cannot hold.
type flatContent []flatBlock

func (c *flatContent) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]flatBlock)(c))
	}
	*c = flatContent{{Type: "text"}}
	return json.Unmarshal(data, &(*c)[0].Text)
}

type flatBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   *bool           `json:"is_error"`
	Source    json.RawMessage `json:"source"`
}

type flatEvent struct {
	Type              string          `json:"type"`
	Message           *flatMessage    `json:"message"`
	Index             int             `json:"index"`
	ContentBlock      *flatBlock      `json:"content_block"`
	Delta             *flatDelta      `json:"delta"`
	Usage             *usage          `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management"`
}

type flatDelta struct {
	delta
	StopReason   string          `json:"stop_reason"`
	StopSequence string          `json:"stop_sequence"`
	StopDetails  json.RawMessage `json:"stop_details"`
	Container    json.RawMessage `json:"container"`
}
