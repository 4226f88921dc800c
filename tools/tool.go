package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew/internal/schemas"
)

// A Tool is a function that the model can call. Its methods return the tool itself, so that they
// chain, and are to be called before the tool is given to a server.
type Tool struct {
	about  mcp.Tool
	in     reflect.Type
	refine func(*jsonschema.Schema)                                          // nil if the schema is good as it is
	call   func(ctx context.Context, input json.RawMessage) (*Result, error) // nil if there is no function
}

// New returns a tool. In is a struct or a map, or any other type if the tool is given a schema. The
// package documentation describes how In becomes a schema, and which types Out may have.
//
// The function may run any number of times at once. Its context is the context of the call. A
// mistake in a tool, such as a name that MCP does not allow, is found by [Add], and with [Server]
// when a session starts.
func New[In, Out any](name, description string, call func(ctx context.Context, in In) (Out, error)) *Tool {
	t := &Tool{about: mcp.Tool{Name: name, Description: description}, in: reflect.TypeFor[In]()}
	if call == nil {
		return t
	}
	t.call = func(ctx context.Context, input json.RawMessage) (*Result, error) {
		var in In
		if err := schemas.Unmarshal(input, &in); err != nil {
			return nil, fmt.Errorf("the input can't be read: %w", err)
		}
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		return resultOf(out)
	}
	return t
}

// Name returns the name of the tool for the agent and for permission rules, if a server with that
// name has it in [clew.Options.MCPServers]: "mcp__server__tool". Characters that the agent does not
// allow there become underscores.
func (t *Tool) Name(server string) string {
	return "mcp__" + agentName(server) + "__" + agentName(t.about.Name)
}

// agentName returns the name of a server or of a tool as the agent writes it.
func agentName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, name)
}

// Title sets a name for people.
func (t *Tool) Title(title string) *Tool {
	t.about.Title = title
	return t
}

// ReadOnly declares that the tool changes nothing. The agent may then call it at the same time as
// other tools.
func (t *Tool) ReadOnly() *Tool {
	t.annotations().ReadOnlyHint = true
	return t
}

// Destructive sets whether the tool may delete or overwrite something. The default is true.
func (t *Tool) Destructive(destructive bool) *Tool {
	t.annotations().DestructiveHint = &destructive
	return t
}

// Idempotent declares that calling the tool again with the same input changes nothing more.
func (t *Tool) Idempotent() *Tool {
	t.annotations().IdempotentHint = true
	return t
}

// OpenWorld sets whether the tool reaches outside systems, such as the network. The default is
// true.
func (t *Tool) OpenWorld(open bool) *Tool {
	t.annotations().OpenWorldHint = &open
	return t
}

// annotations are sent only if there is one.
func (t *Tool) annotations() *mcp.ToolAnnotations {
	if t.about.Annotations == nil {
		t.about.Annotations = new(mcp.ToolAnnotations)
	}
	return t.about.Annotations
}

// MaxResultChars sets how long a result may be before the agent writes it to a file and gives the
// model its name. The agent also has its own limit.
func (t *Tool) MaxResultChars(limit int) *Tool {
	return t.meta("anthropic/maxResultSizeChars", limit)
}

// AlwaysLoad shows the tool to the model from the start, instead of on request.
func (t *Tool) AlwaysLoad() *Tool { return t.meta("anthropic/alwaysLoad", true) }

// SearchHint sets words by which the model finds the tool where it is shown on request.
func (t *Tool) SearchHint(words string) *Tool { return t.meta("anthropic/searchHint", words) }

func (t *Tool) meta(key string, value any) *Tool {
	if t.about.Meta == nil {
		t.about.Meta = mcp.Meta{}
	}
	t.about.Meta[key] = value
	return t
}

// Schema sets the schema of the input, in place of the schema of the Go type. It must be of type
// object. Defaults in it are for the model to read: the function gets what was sent.
func (t *Tool) Schema(schema *jsonschema.Schema) *Tool {
	t.about.InputSchema = schema
	return t
}

// Refine lets a function change the schema of the input, to add constraints that a Go type can't
// express, such as the values of a field. It is called when the tool is given to a server, with a
// schema that nobody else has.
func (t *Tool) Refine(change func(schema *jsonschema.Schema)) *Tool {
	t.refine = change
	return t
}

// build returns the tool as a server takes it.
func (t *Tool) build() (*mcp.Tool, mcp.ToolHandler, error) {
	if t == nil {
		return nil, nil, errors.New("tools: a tool is nil")
	}
	schema, resolved, err := t.inputSchema()
	switch reason := checkName(t.about.Name); {
	case reason != "":
		return nil, nil, fmt.Errorf("tools: the tool %q: its name %s", t.about.Name, reason)
	case t.call == nil:
		return nil, nil, fmt.Errorf("tools: the tool %q has no function", t.about.Name)
	case err != nil:
		return nil, nil, fmt.Errorf("tools: the tool %q: its input: %w", t.about.Name, err)
	}
	about := t.about
	about.InputSchema = schema
	return &about, handler(about.Name, resolved, t.call), nil
}

// checkName returns what MCP has against a name, or "".
func checkName(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	switch {
	case name == "":
		return "is empty"
	case len(name) > 128:
		return "is longer than 128 characters"
	case strings.Trim(name, allowed) != "":
		return "may have letters, digits, underscores, hyphens and dots only"
	}
	return ""
}

// inputSchemaOf returns the schema of an input. A pointer counts as its element, since there always
// is an input.
func inputSchemaOf(in reflect.Type) (*jsonschema.Schema, error) {
	for in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if in == reflect.TypeFor[any]() {
		return &jsonschema.Schema{Type: "object"}, nil
	}
	if in.Kind() != reflect.Struct && in.Kind() != reflect.Map {
		return nil, fmt.Errorf("%v is neither a struct nor a map", in)
	}
	schema, err := schemas.Of(in)
	if err == nil && slices.Contains(schema.Types, "object") { // it has its own UnmarshalJSON
		schema = &jsonschema.Schema{Type: "object"}
	}
	return schema, err
}

// inputSchema returns the schema of the input, ready to be sent and to be checked against.
func (t *Tool) inputSchema() (*jsonschema.Schema, *jsonschema.Resolved, error) {
	schema, own := t.about.InputSchema.(*jsonschema.Schema)
	if !own {
		var err error
		if schema, err = inputSchemaOf(t.in); err != nil {
			return nil, nil, fmt.Errorf("%w (or set a schema with Tool.Schema)", err)
		}
	}
	if schema == nil {
		return nil, nil, errors.New("the schema is nil")
	}
	schema = schema.CloneSchemas() // who has set it keeps his own
	if t.refine != nil {
		t.refine(schema)
	}
	if schema.Type != "object" {
		return nil, nil, errors.New(`the schema must be of type "object"`)
	}
	resolved, err := schema.Resolve(nil)
	return schema, resolved, err
}
