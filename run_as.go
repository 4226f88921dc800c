package clew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew/wire"
)

// RunAs is Run with an answer of type T: the agent is given the JSON schema of T and answers in it. T is mostly a
// struct, whose fields are described by the tags json and jsonschema, see [jsonschema.For]; anything else is sent as the
// one field of an object. An answer that does not fit T is an [*OutputError], beside the result. A [*StoreError]
// alone comes with the answer.
func RunAs[T any, P Prompt](ctx context.Context, prompt P, opts *Options) (T, *wire.ResultMessage, error) {
	var answer T
	shape, err := newOutputShape[T]()
	if err != nil {
		return answer, nil, err
	}
	opts = opts.clone()
	opts.OutputSchema = shape.text
	result, lost, err := outcomeAndLoss(Query(ctx, prompt, opts))
	if err != nil {
		return answer, result, join(err, lost)
	}
	if err := shape.read(result, &answer); err != nil {
		return answer, result, join(&OutputError{Raw: result.StructuredOutput, Text: result.Result, Err: err}, lost)
	}
	return answer, result, lost
}

// An outputShape is what a structured answer must look like.
type outputShape struct {
	text    wire.JSON
	schema  *jsonschema.Resolved
	wrapped bool // the answer is the field "value" of an object: agents answer in objects only
}

func newOutputShape[T any]() (*outputShape, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("clew: %T has no JSON schema: %w", *new(T), err)
	}
	shape := &outputShape{wrapped: schema.Type != "object"}
	if shape.wrapped {
		schema = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{"value": schema},
			Required:             []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if shape.schema, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %T: %w", *new(T), err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %T: %w", *new(T), err)
	}
	shape.text = wire.JSON(text)
	return shape, nil
}

// read decodes the answer of a result into out, if it fits.
func (s *outputShape) read(result *wire.ResultMessage, out any) error {
	raw := result.StructuredOutput
	if raw == "" {
		return errors.New("the result has no structured output")
	}
	var value any
	if err := raw.Decode(&value); err != nil {
		return err
	}
	if err := s.schema.Validate(value); err != nil {
		return err
	}
	if !s.wrapped {
		return raw.Decode(out)
	}
	var wrapper struct {
		Value wire.JSON `json:"value"`
	}
	if err := raw.Decode(&wrapper); err != nil {
		return err
	}
	return wrapper.Value.Decode(out)
}

// An OutputError says that a structured answer is missing or does not fit its type.
type OutputError struct {
	// Raw is the answer as it came, or empty if there is none.
	Raw wire.JSON
	// Text is the text of the result.
	Text string
	// Err says what is wrong.
	Err error
}

func (e *OutputError) Error() string { return "clew: the structured answer: " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *OutputError) Unwrap() error { return e.Err }
