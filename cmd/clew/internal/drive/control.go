package drive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/wire"
)

// An InterruptRequest stops a turn.
type InterruptRequest struct {
	ID string
	// Clear also gives the prompts of the queue back to the user.
	Clear bool
}

// Interrupt stops the turn that is running. Open questions are answered with no. Without Clear, the
// agent continues with the next prompt of the queue.
func (g *Agent) Interrupt(ctx context.Context, req InterruptRequest) (Status, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(ctx context.Context) (Status, error) {
		if _, err := g.connected(); err != nil {
			return Status{}, err
		}
		if req.Clear {
			g.change(func() {
				for _, p := range g.queue {
					g.giveBackLocked(p, "unsent")
				}
				g.queue = nil
			})
		}
		g.stopQuestions("the turn was interrupted")
		err := g.withTimeout(ctx, "the turn was not interrupted", func(ctx context.Context, conn *clew.Session) error {
			_, err := conn.Interrupt(ctx, nil)
			return err
		})
		return g.Status(), err
	})
}

// A ModeRequest changes the permission mode.
type ModeRequest struct {
	ID   string
	Mode wire.PermissionMode
}

// SetMode changes the permission mode to one of [Agents.Modes].
func (g *Agent) SetMode(ctx context.Context, req ModeRequest) (Status, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(ctx context.Context) (Status, error) {
		if !g.agents.allows(req.Mode) {
			return Status{}, errMode(req.Mode)
		}
		const what = "the permission mode has not changed"
		return g.set(ctx, what, func(ctx context.Context, conn *clew.Session) (note func(), err error) {
			return func() { g.mode = req.Mode }, conn.SetPermissionMode(ctx, req.Mode)
		})
	})
}

// A ModelRequest changes the model.
type ModelRequest struct{ ID, Model string }

// SetModel changes the model of the following turns.
func (g *Agent) SetModel(ctx context.Context, req ModelRequest) (Status, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(ctx context.Context) (Status, error) {
		if !modelName().MatchString(req.Model) {
			return Status{}, errModelName
		}
		const what = "the model has not changed"
		return g.set(ctx, what, func(ctx context.Context, conn *clew.Session) (note func(), err error) {
			model, err := conn.SetModel(ctx, req.Model)
			return func() { g.model = model }, err
		})
	})
}

// set changes a setting of the agent, and notes that it did. Each change waits for the one before, so that they are
// noted in the order in which the agent made them.
func (g *Agent) set(
	ctx context.Context, what string, f func(context.Context, *clew.Session) (note func(), err error),
) (Status, error) {
	err := g.withTimeout(ctx, what, func(ctx context.Context, conn *clew.Session) error {
		select {
		case g.setting <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-g.setting }()
		note, err := f(ctx, conn)
		if err == nil {
			g.change(note)
		}
		return err
	})
	return g.Status(), err
}

// A RewindRequest goes back to before a prompt.
type RewindRequest struct {
	ID string
	// To is the ID of one of [Status.Sent].
	To string
	// Preview asks for a preview: nothing is changed.
	Preview bool
	// Digest is the digest of the preview that the user saw. It is needed unless Preview is set.
	Digest string
}

// A Rewound describes the changes of a rewind, made or previewed.
type Rewound struct {
	Files      []string `json:"files"` // that change, only in a preview
	Insertions int      `json:"insertions"`
	Deletions  int      `json:"deletions"`
	// Unchanged is the reason why no file changes, or "".
	Unchanged string `json:"unchanged"`
	// Prompt is the prompt that was removed, to be edited and sent again.
	Prompt string `json:"prompt"`
	// Digest stands for everything that is undone: the prompts, and the files.
	Digest string `json:"digest"`
}

// digestOf returns the digest of a rewind that removes prompts.
func (r *Rewound) digestOf(prompts []Prompt) string {
	var undone strings.Builder
	for _, p := range prompts {
		fmt.Fprintf(&undone, "%q ", p.uuid)
	}
	fmt.Fprintf(&undone, "%q %d %d %q", slices.Sorted(slices.Values(r.Files)), r.Insertions, r.Deletions, r.Unchanged)
	sum := sha256.Sum256([]byte(undone.String()))
	return hex.EncodeToString(sum[:])
}

// Rewind removes a prompt and everything after it from the conversation, and restores the files
// that the agent changed since. It is refused while the agent works, and if it would undo something
// that the preview did not show.
func (g *Agent) Rewind(ctx context.Context, req RewindRequest) (Rewound, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(ctx context.Context) (Rewound, error) {
		prompts, err := g.hold(req.To)
		if err != nil {
			return Rewound{}, err
		}
		defer g.change(func() {
			g.held = false
			g.wakeLocked()
		})
		var done Rewound
		err = g.withTimeout(ctx, "nothing was rewound", func(ctx context.Context, conn *clew.Session) (err error) {
			done, err = rewind(ctx, conn, prompts, &req)
			return err
		})
		if err == nil && !req.Preview {
			g.change(func() { g.sent = g.sent[:len(g.sent)-len(prompts)] })
		}
		return done, err
	})
}

// hold keeps the agent from sending prompts, if it is idle, and returns a prompt that was sent and
// those after it.
func (g *Agent) hold(id string) ([]Prompt, error) {
	if _, err := g.connected(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.sent, func(p Prompt) bool { return p.ID == id })
	switch {
	case i < 0:
		return nil, &Error{Kind: NotFound, Reason: "this agent was not sent such a prompt"}
	case g.held || g.stateLocked() != Idle || len(g.queue) > 0:
		return nil, &Error{Kind: Conflict, Reason: "the agent is not idle", Hint: "Interrupt it first."}
	}
	g.held = true
	return slices.Clone(g.sent[i:]), nil
}

// rewind goes back to before the first one of the prompts, which are the last ones of the conversation.
func rewind(ctx context.Context, conn *clew.Session, prompts []Prompt, req *RewindRequest) (Rewound, error) {
	to := prompts[0]
	files, err := conn.PreviewRewind(ctx, to.uuid)
	if err != nil {
		return Rewound{}, err
	}
	done := Rewound{Files: files.FilesChanged, Insertions: files.Insertions, Deletions: files.Deletions, Prompt: to.Text}
	if !files.CanRewind {
		done.Unchanged = files.Error
		if done.Unchanged == "" {
			done.Unchanged = "the agent has no copies of the files"
		}
	}
	done.Digest = done.digestOf(prompts)
	if req.Preview {
		return done, nil
	}
	if req.Digest != done.Digest {
		return Rewound{}, &Error{
			Kind: Conflict, Reason: "what would be undone has changed since it was shown", Hint: "Look at it again.", Preview: &done,
		}
	}
	if done.Prompt, err = rewindPrompts(ctx, conn, prompts); err != nil {
		return done, err
	}
	if files.CanRewind {
		if _, err := conn.RewindFiles(ctx, to.uuid); err != nil {
			return done, fmt.Errorf("the conversation was rewound, but no file was restored: %w", err)
		}
	}
	return done, nil
}

// rewindPrompts removes prompts from the conversation, the last one first: the agent removes no other.
// It returns the text of the first one.
func rewindPrompts(ctx context.Context, conn *clew.Session, prompts []Prompt) (text string, err error) {
	for _, p := range slices.Backward(prompts) {
		conversation, err := conn.RewindConversation(ctx, p.uuid)
		if err != nil {
			return "", err
		}
		if !conversation.Rewound {
			return "", fmt.Errorf("the prompt %q can't be removed: %s", clip.Marked(p.Text, maxListed), conversation.Error)
		}
		text = cmp.Or(conversation.Prompt, p.Text)
	}
	return text, nil
}

// An EndRequest ends an agent.
type EndRequest struct{ ID string }

// End interrupts the agent and ends it. Its session can be continued.
func (g *Agent) End(ctx context.Context, req EndRequest) (Status, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(context.Context) (Status, error) {
		if g.elsewhere {
			return Status{}, errElsewhere
		}
		g.stop("it was ended from a page") //nolint:contextcheck // it is ended to the end
		return g.Status(), nil
	})
}
