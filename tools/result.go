package tools

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Result is a tool's result for the model, where a string or a value is not enough. Its content
// can be of any kind that MCP knows; StructuredContent is a value that marshals to a JSON object.
type Result = mcp.CallToolResult

// A Content is a block of a result.
type Content = mcp.Content

// NewResult returns a result of blocks.
func NewResult(blocks ...Content) *Result {
	return &Result{Content: append([]Content{}, blocks...)} // nil would be null
}

// Failure returns a result that marks the call as failed for the model. Returning an error does the
// same, with its text.
func Failure(text string) *Result {
	result := NewResult(Text(text))
	result.IsError = true
	return result
}

// Text returns text.
func Text(text string) Content { return &mcp.TextContent{Text: text} }

// Image returns a picture, such as an image/png.
func Image(mimeType string, data []byte) Content {
	return &mcp.ImageContent{MIMEType: mimeType, Data: data}
}

// Audio returns a sound, such as an audio/wav.
func Audio(mimeType string, data []byte) Content {
	return &mcp.AudioContent{MIMEType: mimeType, Data: data}
}

// Link returns a reference to a resource, which the model may read if the server has it.
func Link(uri, name string) Content { return &mcp.ResourceLink{URI: uri, Name: name} }

// TextResource returns a resource with its text.
func TextResource(uri, mimeType, text string) Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

// BlobResource returns a resource with its bytes.
func BlobResource(uri, mimeType string, data []byte) Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Blob: data}}
}

// resultOf returns what a function returned as a result.
func resultOf(out any) (*Result, error) {
	switch out := out.(type) {
	case nil:
		return NewResult(), nil
	case error:
		return nil, out
	case *Result:
		if out == nil {
			return NewResult(), nil
		}
		return settled(out)
	case Result:
		return settled(&out)
	case Content:
		return settled(NewResult(out))
	case []Content:
		return settled(NewResult(out...))
	}
	if text, ok := plainText(out); ok {
		return NewResult(Text(text)), nil
	}
	data, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	result := NewResult(Text(string(data)))
	if data[0] == '{' {
		result.StructuredContent = data
	}
	return result, nil
}

// plainText returns a string of any type without its own JSON encoding.
func plainText(out any) (string, bool) {
	switch out.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return "", false
	}
	v := reflect.ValueOf(out)
	return v.String(), v.Kind() == reflect.String
}

// settled returns a copy of a result that can be sent for certain. A server does not answer with a
// result that has no JSON form, and ends the program if there is a panic.
func settled(result *Result) (*Result, error) {
	sent := *result
	for i, block := range sent.Content {
		if block == nil || reflect.ValueOf(block).IsNil() {
			return nil, fmt.Errorf("the result's block %d is nil", i)
		}
	}
	if sent.StructuredContent != nil {
		data, err := encode(sent.StructuredContent)
		switch {
		case err != nil:
			return nil, fmt.Errorf("encoding the structured content: %w", err)
		case string(data) == "null":
			sent.StructuredContent = nil
		case data[0] != '{':
			return nil, errors.New("the structured content is not a JSON object")
		default:
			sent.StructuredContent = data
		}
	}
	if _, err := encode(&sent); err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	return &sent, nil
}

// encode writes v as JSON, with <, > and & as they are: the model reads it.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
