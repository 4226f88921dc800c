package clewtest

import (
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// outputConfig is how an answer shall look.
type outputConfig struct {
	Format struct {
		Schema struct {
			Properties map[string]wire.JSON `json:"properties"`
		} `json:"schema"`
	} `json:"format"`
}

// probes are the whole prompts with which Claude Code looks whether a key or a model works: "quota" and "test" for a
// key, "Hi" and "." for a model.
var probes = []string{"quota", "test", "Hi", "."}

// aside reports whether Claude Code asked on its own behalf. Only what is known for certain counts: a request that
// merely looks unusual, such as one without tools, may be a turn of the conversation, and goes by the rules.
func (r *Request) aside(body *requestBody) bool {
	return strings.HasPrefix(r.Header.Get("User-Agent"), "claude-cli/") &&
		(r.isProbe() || r.isWebSearch() || r.isTitle(&body.OutputConfig))
}

// isProbe reports whether r wants one token, whole, for a fixed word that nothing stands around. A turn of the
// conversation is streamed, and brings reminders or tools.
func (r *Request) isProbe() bool {
	return r.MaxTokens == 1 && !r.Stream && len(r.Tools) == 0 && r.alone() && slices.Contains(probes, r.Turn().Text())
}

// isWebSearch reports whether r lets the API search. The agent's conversations offer its own tool WebSearch instead.
func (r *Request) isWebSearch() bool {
	return r.alone() && len(r.Tools) == 1 && strings.HasPrefix(r.Tools[0].Type, "web_search_")
}

// isTitle reports whether r wants an object with a title and nothing else, by instructions that speak of one. The
// schema that a host gives for its results is a tool of the conversation.
func (r *Request) isTitle(config *outputConfig) bool {
	properties := config.Format.Schema.Properties
	_, ok := properties["title"]
	return ok && len(properties) == 1 && len(r.Tools) == 0 && r.alone() && strings.Contains(r.System.Text(), "title")
}

// alone reports whether r is a single block of text from the user, without a conversation around it.
func (r *Request) alone() bool {
	return len(r.Messages) == 1 && r.Messages[0].Role == wire.RoleUser && len(r.Messages[0].Content) == 1
}

// Background reports whether the agent made the request on its own behalf, beside the conversation: for a title of the
// session, for a web search, to see whether a key or a model works. Such a request is answered "ok", and logged, unless
// a [Model.When] rule matches it. It is told by what it asks for, as Claude Code 2.1.325 does it; any other request,
// and any request of another client, belongs to the conversation.
func (r *Request) Background() bool { return r.background }
