// Package tools gives the agent tools that are functions of your program, and mounts servers of the
// official MCP Go SDK in it.
//
// A tool is a name, a few words for the model, and a function. The schema of its input comes from
// the Go type:
//
//	type Sum struct {
//		A int `json:"a"`
//		B int `json:"b" jsonschema:"is added to a"`
//	}
//
//	add := tools.New("add", "Adds two numbers", func(ctx context.Context, in Sum) (int, error) {
//		return in.A + in.B, nil
//	})
//
//	opts := &clew.Options{
//		MCPServers:   map[string]clew.MCPServer{"calc": tools.Server(add)},
//		AllowedTools: []string{add.Name("calc")}, // mcp__calc__add
//	}
//
// # Inputs
//
// The input of a tool is a struct, or a map with strings as keys. Its fields are named as in JSON,
// and described by the tag jsonschema. A field is required unless its tag json says omitempty or
// omitzero; a pointer may be null. A type with a method UnmarshalText is a string, also
// [time.Time], bytes are a string in base64, and a [clew.JSON] is anything. A type that contains
// itself has no schema: [Tool.Schema] sets one by hand. [Tool.Refine] adds what a type can't say,
// such as the values that a field may have.
//
// # Calls
//
// The input is checked against the schema before the function runs. A violation, an error of the
// function and a panic in it become a result that the model reads as a failure; none of them ends
// the session. Calls run at the same time, even of one tool and in several sessions. The context of
// a call ends when the agent cancels it, as on an interrupt, and with the session. [Progress]
// reports how far a call is.
//
// # Results
//
// A string goes to the model as it is. Any other value goes as JSON, and an object also as
// structured content; there is no output schema, of which the model would learn nothing. For
// pictures, resources and the like a function returns a [Content], several of them, or a [*Result].
// Claude Code 2.1.325 treats its content as follows:
//
//   - The model gets text and images.
//   - A resource with text, and the name and URI of a link, become text. A resource that is a
//     picture becomes an image.
//   - Audio and other bytes of a resource are written to a file, and the model gets its name.
//   - Structured content, as JSON, takes the place of all text.
//
// A result that is too long is written to a file, and the model gets its name. See
// [Tool.MaxResultChars].
//
// # Servers
//
// [Server] groups tools. [Mount] takes any *mcp.Server as it is, with tools, resources and prompts,
// and [Add] adds tools of this package to one, even while it is in use: the agent learns of the
// change. A server may serve several sessions at once. Claude Code 2.1.325 does not ask such a
// server for its prompts, and refuses the server's own requests, such as for a sample or for roots.
package tools
