package jobview

import (
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Conversation shows the messages of a job's attempts as text. They may come from the store as well as from the
// worker, and are shown once.
type Conversation struct {
	// Attempt is the number of the attempt that is shown, or 0 before the first one.
	Attempt int

	options render.Options
	seen    map[string]bool // the UUIDs of the messages that were shown
	text    string          // of the last answer
	added   int             // to the builder
	builder *transcript.Builder
	feed    *render.Feed
}

// NewConversation returns a conversation that shows nothing yet.
func NewConversation(o render.Options) *Conversation {
	return &Conversation{options: o, seen: map[string]bool{}}
}

// Begin starts to show an attempt. at is a time of its first day.
func (c *Conversation) Begin(attempt int, at time.Time) {
	c.Attempt, c.added = attempt, 0
	c.builder, c.feed = transcript.NewBuilder(nil), &render.Feed{Options: c.options}
	c.feed.Day = at
}

// Seen reports whether the message with that UUID was shown.
func (c *Conversation) Seen(uuid string) bool { return c.seen[uuid] }

// Len returns the number of messages of the attempt that were shown.
func (c *Conversation) Len() int { return c.added }

// Add returns the text of a message of the attempt. It returns false if the line is not a message, or was shown
// before.
func (c *Conversation) Add(line []byte, at time.Time) (text string, ok bool) {
	id, err := sessions.EntryUUID(wire.JSON(line))
	if c.builder == nil || err != nil || c.seen[id] {
		return "", false
	}
	if id != "" {
		c.seen[id] = true
	}
	msg := wire.Decode(line)
	if m, ok := msg.(*wire.AssistantMessage); ok && m.ParentToolUseID == "" {
		c.text = m.Content.Text()
	}
	c.added++
	c.builder.AddMessage(msg, at)
	return c.next(false), true
}

func (c *Conversation) next(final bool) string {
	return c.feed.Next(c.builder.Transcript().Chunks, c.builder.Changed(), final)
}

// End returns the rest of the attempt, and its result unless the agent has just said that or it is nil.
func (c *Conversation) End(r *fleet.Result) string {
	rest := c.next(true)
	if r == nil {
		return rest
	}
	text := strings.TrimSpace(r.Text)
	if text == "" || text == strings.TrimSpace(c.text) {
		return rest
	}
	c.text = text
	title := "result"
	if r.Failed {
		title = "failed"
	}
	return rest + c.feed.Result(title, text)
}
