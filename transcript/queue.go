package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/clewdev/clew/internal/entryfacts"
)

// A PromptQueue finds prompts that an agent has recorded only in queue-operation entries. Agents
// up to 2.1.88 give a prompt that was sent during a turn to the model, and write no entry of the
// conversation for it. [Read], [Stream] and a [Builder] do this themselves; a PromptQueue is for
// callers that classify entries one by one. The zero value is ready. It can be marshaled to JSON,
// to continue later. It is for one goroutine at a time.
type PromptQueue struct{ queue entryfacts.Queue }

// Next takes the next entry. It returns the entries that belong before it: one for each prompt that
// the agent has given to the model, of type attachment, as newer agents write it. Each has the
// position of the queue-operation with its text.
func (q *PromptQueue) Next(e *Entry) []Entry {
	switch {
	case e.Type == entryfacts.QueueOperation:
		q.queue.Operate(e.Raw, entryfacts.Queued{
			Text: entryfacts.PromptText(e.Content), At: e.Position, Time: e.Timestamp, Content: bytes.Clone(e.Content),
		})
	case q.queue.Empty() || e.IsSidechain || e.IsMeta:
	case e.Type == "assistant":
		return q.Rest()
	case e.Type == "attachment" && e.AttachmentType == queuedCommand:
		q.queue.Said(valueAt(e.Attachment, "prompt"))
	case e.Type == "user" && e.Message != nil && e.ToolUseResult == nil:
		q.queue.Said(e.Message.Content)
		if !bytes.Contains(e.Message.Content, []byte(`"tool_result"`)) {
			return q.Rest()
		}
	}
	return nil
}

// Rest returns the entries that belong after the last one.
func (q *PromptQueue) Rest() []Entry {
	var entries []Entry
	for _, prompt := range q.queue.TakeAbsorbed() {
		e := Entry{
			Type: "attachment", UUID: fmt.Sprintf("%s-%d", entryfacts.QueueOperation, prompt.At.Line),
			Timestamp: prompt.Time, Position: prompt.At,
		}
		content := prompt.Content
		if content == nil {
			content, _ = json.Marshal(prompt.Text) // a string always can be
		}
		e.setQueued(content)
		entries = append(entries, e)
	}
	return entries
}

// setQueued makes an entry that of a queued prompt, with that content.
func (e *Entry) setQueued(content []byte) {
	e.AttachmentType = queuedCommand
	e.Attachment = append(append([]byte(`{"type":"`+queuedCommand+`","prompt":`), content...), '}')
}

// MarshalJSON returns the state of the queue.
func (q PromptQueue) MarshalJSON() ([]byte, error) { return json.Marshal(&q.queue) }

// UnmarshalJSON restores the state of the queue.
func (q *PromptQueue) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &q.queue) }

// IsZero reports whether the queue has nothing to find.
func (q PromptQueue) IsZero() bool { return q.queue.Empty() }
