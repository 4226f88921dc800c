package sessions

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Message is one of a recorded conversation.
type Message struct {
	// Message is a [*wire.UserMessage] or a [*wire.AssistantMessage], or a [*wire.InvalidFrame] for one that does not
	// decode. Its Raw is the whole entry, which has members that messages of a live session do not have.
	wire.Message
	UUID string
	Time time.Time
	// CompactSummary says that the message sums up what was said before a compaction.
	CompactSummary bool
	// ParentToolUseID is the call that started the subagent whose message this is, and ParentAgentID the subagent that
	// called, if it was not the session itself.
	ParentToolUseID string
	ParentAgentID   string
}

// Messages returns the conversation of a session as the agent would continue it: from the last message back to the
// first, or to the last compaction, without branches that were left, without messages of subagents, without those that
// were made for the model alone, and without those that were taken back or replaced. Messages that a compaction has kept
// are there behind its summary, and so are all results of calls that were made at the same time.
//
// It loads the transcript when the loop begins. An error is the last pair, and wraps [ErrNotFound] if there is no such
// session.
func Messages(ctx context.Context, id string, opts *Options) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		p, key, err := opts.find(ctx, id)
		if err != nil {
			yield(nil, err)
			return
		}
		c, err := loadChain(p.store.Load(ctx, key))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, node := range c.conversation() {
			if node.visible() && !c.takenBack[node.uuid] && !yield(node.message(), nil) {
				return
			}
		}
	}
}

// A Subagent is one that a session has started.
type Subagent struct {
	ID string
	// Key is that of its transcript.
	Key wire.SessionKey
}

// Subagents returns the subagents of a session whose transcripts there are, in the order of their subpaths.
func Subagents(ctx context.Context, id string, opts *Options) ([]Subagent, error) {
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.subagents(ctx, key)
}

func (p place) subagents(ctx context.Context, key wire.SessionKey) ([]Subagent, error) {
	subpaths, err := p.store.Subpaths(ctx, key)
	if err != nil {
		return nil, err
	}
	var found []Subagent
	for _, subpath := range subpaths {
		agent, ok := strings.CutPrefix(path.Base(subpath), "agent-")
		if ok && strings.HasPrefix(subpath, "subagents/") {
			key.Subpath = subpath
			found = append(found, Subagent{ID: agent, Key: key})
		}
	}
	return found, nil
}

// SubagentMessages returns the conversation of a subagent, as [Messages] does that of a session.
func SubagentMessages(ctx context.Context, id, agent string, opts *Options) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		key, p, err := opts.findSubagent(ctx, id, agent)
		if err != nil {
			yield(nil, err)
			return
		}
		c, err := loadChain(p.store.Load(ctx, key))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, node := range c.wholeConversation() {
			if !node.spoken() || node.meta || c.takenBack[node.uuid] {
				continue
			}
			msg := node.message()
			msg.ParentToolUseID, msg.ParentAgentID = c.parentToolUse, c.parentAgent
			if !yield(msg, nil) {
				return
			}
		}
	}
}

func (o *Options) findSubagent(ctx context.Context, id, agent string) (wire.SessionKey, place, error) {
	p, key, err := o.find(ctx, id)
	if err != nil {
		return key, p, err
	}
	agents, err := p.subagents(ctx, key)
	if err != nil {
		return key, p, err
	}
	for _, a := range agents {
		if a.ID == agent {
			return a.Key, p, nil
		}
	}
	return key, p, fmt.Errorf("sessions: subagent %q of session %s: %w in %s", agent, id, ErrNotFound, p)
}

// parents returns what the file beside a subagent's transcript says of who started it.
func parents(entry wire.JSON) (toolUse, agent string, ok bool) {
	content, ok := sessionfile.Sidecar(entry)
	if !ok {
		return "", "", false
	}
	var sidecar struct{ ToolUseID, ParentAgentID string }
	if err := wire.JSON(content).Decode(&sidecar); err != nil {
		return "", "", false
	}
	return sidecar.ToolUseID, sidecar.ParentAgentID, true
}
