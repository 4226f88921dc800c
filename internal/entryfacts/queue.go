package entryfacts

import (
	"slices"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// QueueOperation is the type of the lines that record what happened to prompts that were sent while
// the agent worked.
const QueueOperation = "queue-operation"

// A Queue finds the prompts that an agent has recorded only in queue-operation lines. Up to some
// version between 2.1.88 and 2.1.109, an agent that gave a queued prompt to the model in the middle
// of a turn wrote nothing else of it. The zero value is ready. It can be marshaled to JSON.
type Queue struct {
	// Waiting are the prompts in the queue, in order.
	Waiting []Queued `json:"waiting,omitempty"`
	// Sent are the prompts that left the queue to begin a turn. A line of the conversation follows.
	Sent []Queued `json:"sent,omitempty"`
	// Absorbed are the prompts that the agent gave to the model during a turn, of which no line of
	// the conversation has come so far.
	Absorbed []Queued `json:"absorbed,omitempty"`
}

// A Queued is a prompt in a queue.
type Queued struct {
	// Text is the text that the user wrote.
	Text string `json:"text"`
	// Said reports whether a line of the conversation has the prompt.
	Said bool `json:"said,omitempty"`
	// At is the position of the line that put it into the queue, and Time the time of that line.
	At   wire.Position `json:"at"`
	Time time.Time     `json:"time,omitzero"`
	// Content is a copy of the content of the line, a JSON string or a list of blocks, unless the
	// caller does not need it.
	Content []byte `json:"-"`
}

// maxQueued is the most prompts that each of the lists has. Older ones are forgotten.
const maxQueued = 1000

// Operate takes the next queue-operation line. next is the prompt, as far as the line has it: an
// agent that removes one may not name it, and then means the first.
func (q *Queue) Operate(line []byte, next Queued) {
	switch textAt(line, "operation") {
	case "enqueue":
		q.Waiting = push(q.Waiting, next)
	case "dequeue":
		if prompt, ok := q.take(next.Text); ok && !prompt.Said {
			q.Sent = push(q.Sent, prompt)
		}
	case "remove":
		reason := textAt(line, "reason") // older agents write none
		prompt, ok := q.take(next.Text)
		if ok && !prompt.Said && prompt.Text != "" && (reason == "" || reason == "absorbed_mid_turn") {
			q.Absorbed = push(q.Absorbed, prompt)
		}
	case "popAll":
		q.Waiting = nil
	}
}

// Empty reports whether there is nothing to find.
func (q *Queue) Empty() bool { return len(q.Waiting)+len(q.Sent)+len(q.Absorbed) == 0 }

// take removes the prompt with a text from the queue, or the first if no text is given.
func (q *Queue) take(text string) (Queued, bool) {
	at := 0
	if text != "" {
		at = indexText(q.Waiting, text)
	}
	if at < 0 || at >= len(q.Waiting) {
		return Queued{}, false
	}
	prompt := q.Waiting[at]
	q.Waiting = slices.Delete(q.Waiting, at, at+1)
	return prompt, true
}

// Said takes the content of a prompt in a line of the conversation, which stands for the one from
// the queue.
func (q *Queue) Said(content []byte) {
	if q.Empty() {
		return
	}
	text := PromptText(content)
	for _, list := range []*[]Queued{&q.Sent, &q.Absorbed} {
		if at := indexText(*list, text); at >= 0 {
			*list = slices.Delete(*list, at, at+1)
			return
		}
	}
	if at := slices.IndexFunc(q.Waiting, func(p Queued) bool { return p.Text == text && !p.Said }); at >= 0 {
		q.Waiting[at].Said = true
	}
}

// TakeAbsorbed returns the prompts that the agent gave to the model without another line, in order,
// and forgets them. Call it before the next answer and at the end of the transcript.
func (q *Queue) TakeAbsorbed() []Queued {
	list := q.Absorbed
	q.Absorbed = nil
	return list
}

func push(list []Queued, prompt Queued) []Queued {
	if len(list) >= maxQueued {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, prompt)
}

func indexText(list []Queued, text string) int {
	return slices.IndexFunc(list, func(p Queued) bool { return p.Text == text })
}

// PromptText returns the texts of a content, each from a new line, without what was added to them.
func PromptText(content []byte) string {
	if text, ok := jsonlex.Unquote(content); ok {
		rest, _ := CutAdded(string(text))
		return rest
	}
	var l jsonlex.Lexer
	l.Reset(content)
	if l.Peek() != '[' {
		return ""
	}
	var texts []string
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		block := l.Skip()
		text, isText := jsonlex.Unquote(block)
		if !isText && textAt(block, "type") == "text" {
			text, _ = jsonlex.Unquote(jsonlex.Lookup(block, 0, "text"))
		}
		texts = append(texts, string(text))
	}
	rest, _ := CutAddedBlocks(texts)
	return rest
}
