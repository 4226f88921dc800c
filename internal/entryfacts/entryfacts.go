// Package entryfacts decides questions about transcript lines that several packages ask. It reports
// whether a turn is over, which entries a compaction keeps, which entries are retracted, and which
// texts the user did not write.
package entryfacts

import (
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// Chained reports whether entries of a type are part of the tree of the conversation, if they have
// a UUID.
func Chained(kind string) bool {
	switch kind {
	case "user", "assistant", "system", "attachment", "progress":
		return true
	}
	return false
}

// CallEndsTurn reports whether a tool call is the last thing that an agent does before the
// user's next prompt: it presents a plan and waits, or it shuts down. input returns the call's
// input, and is called only for the tools that need it.
func CallEndsTurn(tool string, input func() wire.JSON) bool {
	switch tool {
	case "ExitPlanMode":
		return true
	case "SendMessage":
		in, _ := tooluse.DecodeInput(tool, input())
		message, ok := in.(*tooluse.SendMessageInput)
		return ok && message.ApprovesShutdown()
	}
	return false
}

// A Result is a call's result, as far as it is known.
type Result struct {
	// Tool is the name of the tool, or "" if it is not known.
	Tool string
	// Succeeded reports whether there is a result that is not an error.
	Succeeded bool
	// Structured is the structured result, and Text the text that the model was given.
	Structured wire.JSON
	Text       string
}

// structuredOutput is the structured result of the tool that gives the answer as JSON.
const structuredOutput = "Structured output provided successfully"

// EndsTurn reports whether the agent does nothing after the result: the user rejected the call, or
// it was the structured output that was asked for.
func (r *Result) EndsTurn() bool {
	if r.Tool == "StructuredOutput" && r.Succeeded || strings.TrimSpace(r.Text) == entrylex.Rejected {
		return true
	}
	text, ok := jsonlex.Unquote([]byte(r.Structured))
	return ok && (string(text) == entrylex.Rejected || string(text) == structuredOutput)
}

// Preserved are the messages that a compaction has kept. They come after the anchor, which is the
// summary, although their entries still name their old parents.
type Preserved struct {
	Anchor string
	// UUIDs are all messages in order. Older agents wrote only the first and the last one.
	UUIDs       []string
	First, Last string
}

// ReadPreserved reads the metadata of a compaction. Anchor is "" if the compaction has kept
// nothing.
func ReadPreserved(metadata []byte) Preserved {
	kept := jsonlex.Lookup(metadata, 0, "preservedMessages")
	if anchor := textAt(kept, "anchorUuid"); anchor != "" {
		return Preserved{Anchor: anchor, UUIDs: Texts(jsonlex.Lookup(kept, 0, "uuids"))}
	}
	kept = jsonlex.Lookup(metadata, 0, "preservedSegment")
	return Preserved{
		Anchor: textAt(kept, "anchorUuid"), First: textAt(kept, "headUuid"), Last: textAt(kept, "tailUuid"),
	}
}

// Rewound returns the UUID of the first entry that a rewind has removed from the conversation, if
// the line of that type records one. All entries below it that were there before the line go with
// it.
func Rewound(kind string, line []byte) (uuid string, ok bool) {
	if kind != "last-prompt" || string(jsonlex.Lookup(line, 0, "rewound")) != "true" {
		return "", false
	}
	return textAt(line, "cutUuid"), true
}

// Texts returns the strings of a JSON array that are not empty, or the value itself if it is a
// string. The members that name retracted entries have either form.
func Texts(value []byte) []string {
	var l jsonlex.Lexer
	l.Reset(value)
	return AppendTexts(nil, &l)
}

// AppendTexts is like [Texts] for the value that l reads next. It appends to list.
func AppendTexts(list []string, l *jsonlex.Lexer) []string {
	if l.Peek() != '[' {
		return appendText(list, l)
	}
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		list = appendText(list, l)
	}
	return list
}

func appendText(list []string, l *jsonlex.Lexer) []string {
	if l.Peek() != '"' {
		l.Skip()
		return list
	}
	if text := l.String(); text != "" {
		list = append(list, text)
	}
	return list
}

func textAt(object []byte, name string) string {
	text, _ := jsonlex.Unquote(jsonlex.Lookup(object, 0, name))
	return string(text)
}
