package clew

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"iter"

	"github.com/clewdev/clew/wire"
)

// A Prompt is what an agent can be asked: a text, a message with images or documents, or a sequence of messages. The
// messages of a sequence are sent as it yields them, without waiting for answers. The error of a sequence with errors
// ends the prompts, not the turn that runs.
type Prompt interface {
	string | *wire.UserMessage | iter.Seq[*wire.UserMessage] | iter.Seq2[*wire.UserMessage, error]
}

// prompts returns the messages of a prompt.
func prompts[P Prompt](prompt P) iter.Seq2[*wire.UserMessage, error] {
	switch p := any(prompt).(type) {
	case string:
		return one(NewUserMessage(Text(p)))
	case *wire.UserMessage:
		return one(p)
	case iter.Seq[*wire.UserMessage]:
		return func(yield func(*wire.UserMessage, error) bool) {
			for msg := range p {
				if !yield(msg, nil) {
					return
				}
			}
		}
	case iter.Seq2[*wire.UserMessage, error]:
		return p
	}
	panic(fmt.Sprintf("clew: a prompt of type %T", prompt)) // the constraint has no other
}

func one(msg *wire.UserMessage) iter.Seq2[*wire.UserMessage, error] {
	return func(yield func(*wire.UserMessage, error) bool) { yield(msg, nil) }
}

// NewUserMessage returns a message to the agent with these blocks. Its other fields may be set before it is sent.
func NewUserMessage(blocks ...wire.Block) *wire.UserMessage {
	return &wire.UserMessage{APIMessage: wire.APIMessage{Role: wire.RoleUser, Content: blocks}}
}

// Text returns a block of text.
func Text(text string) *wire.TextBlock { return &wire.TextBlock{Text: text} }

// Image returns an image, such as a PNG file of type "image/png".
func Image(mediaType string, data []byte) *wire.ImageBlock {
	return &wire.ImageBlock{Source: encoded(mediaType, data)}
}

// Document returns a document, such as a PDF file of type "application/pdf".
func Document(mediaType string, data []byte) *wire.DocumentBlock {
	if mediaType == "text/plain" {
		return &wire.DocumentBlock{Source: &wire.Source{Type: "text", MediaType: mediaType, Data: string(data)}}
	}
	return &wire.DocumentBlock{Source: encoded(mediaType, data)}
}

func encoded(mediaType string, data []byte) *wire.Source {
	return &wire.Source{Type: "base64", MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data)}
}

// promptFrame returns the frame of a message and the id that its result will name. The caller's message is not changed.
func promptFrame(msg *wire.UserMessage, verbatim bool) (frame []byte, uuid string, err error) {
	if msg == nil {
		return nil, "", fmt.Errorf("clew: the prompt is a nil message")
	}
	stamped := *msg
	if stamped.UUID == "" {
		stamped.UUID = newUUID()
	}
	if stamped.Role == "" {
		stamped.Role = wire.RoleUser
	}
	stamped.ClientComposed = stamped.ClientComposed || verbatim
	frame, err = wire.Append(nil, &stamped)
	if err != nil {
		return nil, "", fmt.Errorf("clew: the prompt has no JSON form: %w", err)
	}
	return append(frame, '\n'), stamped.UUID, nil
}

// newUUID returns a random UUID, of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
