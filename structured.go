package clew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew/internal/schemas"
	"github.com/clewdev/clew/wire"
)

// RunAs runs a prompt and decodes the answer into a value of type T: the agent gets a JSON schema
// and answers in that form. T is usually a struct whose fields have json and jsonschema tags, see
// [SchemaFor]. Other types are sent as the only field of an object.
//
//	plan, result, err := clew.RunAs[Plan](ctx, "Plan the release", nil)
//
// The prompt runs on its own agent with [Options], which may be nil, on an agent of a [Pool], or as
// the next turn of a [Session]. With Options, the schema is derived from T, unless
// [Options.OutputSchema] is set. Agents of a pool or of a session are started before they know T,
// so their Options must have an OutputSchema: [SchemaFor] makes it. They take a text or one
// message, and no sequence.
//
//	session, err := clew.Connect(ctx, &clew.Options{OutputSchema: schema})
//	plan, result, err := clew.RunAs[Plan](ctx, "Plan the release", session)
//
// If the answer does not fit the schema and T, RunAs returns the result and an [*OutputError]. If
// the only error is a [*StoreError], the answer is valid. Other errors are as for [Run], [Pool.Run]
// and [Session.Turn]. A schema that T can't hold is an error before anything runs.
func RunAs[T any, P Prompt](ctx context.Context, prompt P, on Runner) (T, *wire.ResultMessage, error) {
	var answer T
	messages, shape, err := runner(on).runShaped(ctx, reflect.TypeFor[T](), promptOf(prompt))
	if err != nil {
		return answer, nil, err
	}
	result, lost, err := outcomeAndLoss(messages)
	if err != nil {
		return answer, result, join(err, lost)
	}
	if err := shape.read(result, &answer); err != nil {
		var none T
		return none, result, join(&OutputError{Raw: result.StructuredOutput, Text: result.Result, Err: err}, lost)
	}
	return answer, result, lost
}

func (o *Options) runShaped(ctx context.Context, t reflect.Type, prompt anyPrompt,
) (iter.Seq2[wire.Message, error], *outputShape, error) {
	opts := o.clone()
	shape, err := newOutputShape(t, opts.OutputSchema)
	if err != nil {
		return nil, nil, err
	}
	opts.OutputSchema = shape.text
	return opts.query(ctx, prompt), shape, nil
}

func (p *Pool) runShaped(ctx context.Context, t reflect.Type, prompt anyPrompt,
) (iter.Seq2[wire.Message, error], *outputShape, error) {
	shape, err := startedShape(t, p.opts, prompt)
	return p.Query(ctx, prompt.one), shape, err
}

func (s *Session) runShaped(ctx context.Context, t reflect.Type, prompt anyPrompt,
) (iter.Seq2[wire.Message, error], *outputShape, error) {
	shape, err := startedShape(t, s.opts, prompt)
	return s.Turn(ctx, prompt.one), shape, err
}

// startedShape returns the shape of the answers of agents that were started with these options.
func startedShape(t reflect.Type, opts *Options, prompt anyPrompt) (*outputShape, error) {
	switch {
	case opts.OutputSchema == "":
		return nil, badOption("OutputSchema", "is empty: to use RunAs[%v] with a session or a pool, set it to the result of SchemaFor[%v]", t, t)
	case prompt.one == nil:
		return nil, errOneMessage
	}
	return newOutputShape(t, opts.OutputSchema)
}

// SchemaFor returns the JSON schema of T for [Options.OutputSchema], as [RunAs] sends it.
//
// The fields of a struct are named as in JSON, and described by the tag jsonschema. A field is
// required unless its tag json says omitempty or omitzero; a pointer may be null. A type with a
// method UnmarshalText is a string, including [time.Time], bytes are a string in base64, and a
// [JSON] or a [json.RawMessage] is anything. A type that is not an object, such as a slice, becomes
// the field "value" of one, because agents answer only in objects.
//
// The functions change the schema of T before that, to add constraints that a Go type can't
// express, such as the values of a field. The error is about a type that has no schema, such as a
// channel or a type that contains itself, or about a schema that the functions made invalid. For a
// type that contains itself, write the schema by hand: RunAs takes any schema that T can hold.
func SchemaFor[T any](refine ...func(schema *jsonschema.Schema)) (wire.JSON, error) {
	t := pointedTo(reflect.TypeFor[T]())
	schema, err := schemas.Of(t)
	if err != nil {
		return "", fmt.Errorf("clew: %v has no JSON schema: %w", t, err)
	}
	for _, change := range refine {
		change(schema)
	}
	shape, err := shapeOf(t, schema)
	if err != nil {
		return "", err
	}
	return shape.text, nil
}

// pointedTo returns what a pointer points to: there always is an answer.
func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// An outputShape is the schema of a structured answer.
type outputShape struct {
	text    wire.JSON
	schema  *jsonschema.Resolved
	wrapped bool // the answer is the field "value" of an object, because agents answer only in objects
}

// newOutputShape returns the shape of an answer that is a value of the type. given is its schema,
// or empty for the type's own schema.
func newOutputShape(t reflect.Type, given wire.JSON) (*outputShape, error) {
	t = pointedTo(t)
	own, err := schemas.Of(t)
	if given != "" {
		return givenShape(t, own, given)
	}
	if err != nil {
		return nil, fmt.Errorf("clew: %v has no JSON schema: %w (set Options.OutputSchema to one)", t, err)
	}
	return shapeOf(t, own)
}

// shapeOf returns the shape of a type with a schema.
func shapeOf(t reflect.Type, schema *jsonschema.Schema) (shape *outputShape, err error) {
	shape = &outputShape{wrapped: schema.Type != "object"}
	if shape.wrapped {
		schema = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{"value": schema},
			Required:             []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if shape.schema, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %v: %w", t, err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %v: %w", t, err)
	}
	shape.text = wire.JSON(text)
	return shape, nil
}

// givenShape returns the shape of a type with a schema of the caller. own is the schema of the
// type, or nil if it has none.
func givenShape(t reflect.Type, own *jsonschema.Schema, given wire.JSON) (*outputShape, error) {
	schema := new(jsonschema.Schema)
	if err := given.Decode(schema); err != nil {
		return nil, badOption("OutputSchema", "is not a JSON schema: %v", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, badOption("OutputSchema", "can't be used: %v", err)
	}
	shape := &outputShape{text: given, schema: resolved}
	if own != nil && own.Type != "object" {
		_, wrapped := schema.Properties["value"]
		shape.wrapped = wrapped && len(schema.Properties) == 1
	}
	if reason := misfit(own, schema, shape.wrapped); reason != "" {
		return nil, badOption("OutputSchema", "is not a schema of %v: %s", t, reason)
	}
	return shape, nil
}

// misfit returns why a value in a schema would not be held by the type whose own schema is given,
// or "". It compares the members of objects, so that the schema of another type is noticed.
func misfit(own, schema *jsonschema.Schema, wrapped bool) string {
	if own == nil || wrapped {
		return ""
	}
	anything := own.Type == "" && own.Types == nil
	switch {
	case !anything && own.Type != "object" && !slices.Contains(own.Types, "object"):
		return `it needs a single member "value"`
	case own.Properties == nil || schema.Properties == nil:
		return ""
	}
	for name := range schema.Properties {
		if own.Properties[name] == nil {
			return fmt.Sprintf("the type has no field %q", name)
		}
	}
	for _, name := range own.Required {
		if schema.Properties[name] == nil {
			return fmt.Sprintf("it has no member %q", name)
		}
	}
	return ""
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
		return schemas.Unmarshal([]byte(raw), out)
	}
	var wrapper struct {
		Value wire.JSON `json:"value"`
	}
	if err := raw.Decode(&wrapper); err != nil {
		return err
	}
	return schemas.Unmarshal([]byte(wrapper.Value), out)
}

// An OutputError reports that a structured answer is missing or does not fit its type.
type OutputError struct {
	// Raw is the answer as the agent sent it, or empty if there is none.
	Raw wire.JSON
	// Text is the text of the result.
	Text string
	// Err describes the problem.
	Err error
}

func (e *OutputError) Error() string { return "clew: the structured answer: " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *OutputError) Unwrap() error { return e.Err }
