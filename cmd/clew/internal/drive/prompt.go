package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/prompts"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A PromptRequest sends a prompt. Its ID is also the prompt's.
type PromptRequest struct {
	ID     string
	Text   string
	Images [][]byte
}

// A Prompt is a prompt of the user.
type Prompt struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Images int    `json:"images"`
	// State is queued or sent. A returned prompt is lost if the agent may have acted on it, or
	// unsent if the agent never saw it.
	State string `json:"state"`

	uuid string // what the agent knows it by
}

// A prompt is a prompt that was accepted.
type prompt struct {
	id, text string
	images   int
	size     int // bytes
	message  *wire.UserMessage
}

func (p *prompt) public(state string) Prompt {
	return Prompt{p.id, p.text, p.images, state, p.message.UUID}
}

// newPrompt checks a prompt.
func newPrompt(req *PromptRequest) (*prompt, error) {
	text := strings.TrimSpace(req.Text)
	switch {
	case text == "" && len(req.Images) == 0:
		return nil, &Error{Kind: Invalid, Reason: "the prompt is empty"}
	case len(text) > MaxPrompt:
		return nil, &Error{Kind: Invalid, Reason: "the prompt is longer than 1 MiB", Hint: "Put it into a file, and name that."}
	case !utf8.ValidString(text):
		return nil, &Error{Kind: Invalid, Reason: "the prompt is not valid UTF-8"}
	case len(req.Images) > MaxImages:
		return nil, &Error{Kind: Invalid, Reason: fmt.Sprintf("the prompt has more than %d images", MaxImages)}
	}
	blocks, err := imageBlocks(req.Images)
	if err != nil {
		return nil, err
	}
	if text != "" {
		blocks = append(blocks, &wire.TextBlock{Text: text})
	}
	p := &prompt{id: req.ID, text: text, images: len(req.Images), size: len(text), message: clew.NewUserMessage(blocks...)}
	for _, data := range req.Images {
		p.size += len(data)
	}
	p.message.UUID = newid.UUID()
	return p, nil
}

// imageBlocks returns images as blocks, by their content types.
func imageBlocks(images [][]byte) ([]wire.Block, error) {
	var blocks []wire.Block
	size := 0
	for i, data := range images {
		if size += len(data); size > MaxImageBytes {
			return nil, &Error{Kind: Invalid, Reason: "the images have more than 10 MiB"}
		}
		block, err := prompts.ImageBlock(data)
		if err != nil {
			return nil, &Error{
				Kind: Invalid, Reason: fmt.Sprintf("image %d was not accepted: %v", i+1, err),
				Hint: "PNG, JPEG, GIF and WebP of at most 5 MiB can be sent.",
			}
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// Prompt accepts a prompt. It is sent when those before it are answered.
func (g *Agent) Prompt(ctx context.Context, req PromptRequest) (Prompt, error) {
	if p, ok := g.earlier[req.ID]; ok {
		return p, nil // it was accepted by an earlier server
	}
	return once(ctx, g.agents, g.calls, req.ID, req, func(context.Context) (Prompt, error) {
		p, err := newPrompt(&req)
		if err != nil {
			return Prompt{}, err
		}
		g.change(func() { err = g.enqueueLocked(p) })
		return p.public("queued"), err
	})
}

func (g *Agent) enqueueLocked(p *prompt) error {
	switch {
	case g.elsewhere:
		return errElsewhere
	case g.ended || g.ctx.Err() != nil:
		return errEnded
	case len(g.queue) >= MaxQueue:
		return &Error{Kind: TooMany, Reason: fmt.Sprintf("%d prompts are waiting, which is the most", MaxQueue), Hint: "Take one back."}
	}
	size := p.size
	for _, other := range g.queue {
		size += other.size
	}
	if size > maxQueueBytes && len(g.queue) > 0 {
		return &Error{Kind: TooMany, Reason: "the prompts that are waiting have more than 64 MiB", Hint: "Wait until some are answered."}
	}
	g.queue = append(g.queue, p)
	if err := g.saveLocked(); err != nil {
		g.queue = g.queue[:len(g.queue)-1]
		return err
	}
	g.wakeLocked()
	return nil
}

// maxListed is the number of bytes of a prompt in lists.
const maxListed = 300

// next takes the first prompt out of the queue, or returns nil. A prompt that can't be marked as
// sent goes back to the user: another server would assume that the agent never saw it.
func (g *Agent) next() (p *prompt) {
	g.change(func() {
		if len(g.queue) == 0 || g.held {
			return
		}
		p, g.current, g.queue = g.queue[0], g.queue[0], g.queue[1:]
		g.failure = ""
		if err := g.saveLocked(); err != nil {
			g.giveBackLocked(p, "unsent")
			p, g.current, g.failure = nil, nil, reasonOf(err)
		}
	})
	return p
}

// send sends a prompt, unless another process opened the session since: then the agent does not
// know the new messages, and the user gets the prompt back.
func (g *Agent) send(conn *clew.Session, p *prompt) {
	other := g.opener(conn.Info().PID)
	if other == nil {
		g.turn(conn, p)
		return
	}
	g.change(func() {
		g.current = nil
		g.giveBackLocked(p, "unsent")
		g.failure = "the prompt was not sent: " + openElsewhere(other).Error()
	})
}

// opener returns another process than the agent's own that has the session open, or nil.
func (g *Agent) opener(own int) *sessions.RunningSession {
	ctx, cancel := context.WithTimeout(g.ctx, controlTimeout)
	defer cancel()
	running, _ := g.agents.opts.Running(ctx) // the session was free: what can't be read says nothing new
	session := g.sessionID()
	for i := range running {
		// An agent without a process ID looks like another program's agent.
		if r := &running[i]; r.ID == session && r.PID != own && (own != 0 || r.Entrypoint == "cli") {
			return r
		}
	}
	return nil
}

// turn sends a prompt, and reads until it is answered.
func (g *Agent) turn(conn *clew.Session, p *prompt) {
	var failure error
	for msg, err := range conn.Turn(g.ctx, p.message) {
		if err != nil {
			failure = err
			break
		}
		g.follow(msg, false)
	}
	g.change(func() { g.answeredLocked(p, failure) })
}

// answeredLocked notes what has become of a prompt that was sent.
func (g *Agent) answeredLocked(p *prompt, err error) {
	const remembered = 50
	g.current, g.unsaved = nil, true
	g.text.Reset()
	_, unsent := errors.AsType[*clew.OptionsError](err)
	_, answered := errors.AsType[*clew.ResultError](err)
	switch {
	case err == nil || answered:
		sent := p.public("sent")
		sent.Text = clip.Marked(sent.Text, maxListed)
		if g.sent = append(g.sent, sent); len(g.sent) > remembered {
			g.sent = g.sent[1:]
		}
	case unsent:
		g.giveBackLocked(p, "unsent")
	default: // the agent may have acted on it
		g.giveBackLocked(p, "lost")
	}
	if err != nil {
		g.failure = reasonOf(err)
	}
}

// giveBackLocked returns a prompt to the user.
func (g *Agent) giveBackLocked(p *prompt, state string) {
	g.unsaved = true
	g.returned = append(g.returned, p.public(state))
	if len(g.returned) > 2*MaxQueue { // after as many failures nobody misses the first
		g.returned = g.returned[1:]
	}
}

// A WithdrawRequest takes a prompt back.
type WithdrawRequest struct{ ID, Prompt string }

// Withdraw takes a prompt out of the queue, and returns it.
func (g *Agent) Withdraw(ctx context.Context, req WithdrawRequest) (Prompt, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(context.Context) (p Prompt, err error) {
		g.change(func() { p, err = g.withdrawLocked(req.Prompt) })
		return p, err
	})
}

func (g *Agent) withdrawLocked(id string) (Prompt, error) {
	g.unsaved = true
	is := func(p *prompt) bool { return p.id == id }
	if i := slices.IndexFunc(g.queue, is); i >= 0 {
		p := g.queue[i]
		g.queue = slices.Delete(g.queue, i, i+1)
		return p.public("withdrawn"), nil
	}
	if i := slices.IndexFunc(g.returned, func(p Prompt) bool { return p.ID == id }); i >= 0 {
		p := g.returned[i]
		g.returned = slices.Delete(g.returned, i, i+1)
		return p, nil
	}
	if g.current != nil && is(g.current) {
		return Prompt{}, &Error{Kind: Conflict, Reason: "the prompt was sent", Hint: "Interrupt the turn."}
	}
	return Prompt{}, &Error{Kind: NotFound, Reason: "the prompt is not in the queue"}
}
