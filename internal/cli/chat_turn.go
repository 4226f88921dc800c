package cli

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

var errChatInterrupted = errors.New("interrupted twice")

// turn has a prompt answered. A prompt that was lost with an agent comes back. Errors
// end the chat.
func (c *chat) turn(ctx context.Context, prompt string) (lost string, err error) {
	c.turns++
	c.screen.busy("thinking")
	p := &textPrinter{screen: c.screen, structured: len(c.opts.OutputSchema) > 0}
	stopped, err := c.answer(ctx, prompt, p)
	c.screen.rest()
	if broken, ok := errors.AsType[*writeError](errors.Join(err, p.finish(err))); ok {
		return "", broken
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case stopped:
		c.screen.note("interrupted")
		return "", c.session.Err()
	}
	c.failed++
	if _, ok := errors.AsType[*clew.LostError](err); ok {
		c.screen.note("the prompt was lost with the agent, which may have begun to act on it")
		return prompt, nil
	}
	if c.session.Err() != nil {
		return "", err
	}
	c.screen.say(harmless(reason(ctx, err)) + "\n")
	return "", nil
}

// answer prints what the agent does about a prompt. The first interrupt stops the turn,
// the second one the chat.
func (c *chat) answer(ctx context.Context, prompt string, p printer) (stopped bool, err error) {
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var stopping atomic.Bool
	stop := func() {
		if stopping.Swap(true) {
			return
		}
		c.screen.note("interrupting")
		time.AfterFunc(stopLimit, cancel)
		go c.session.Interrupt(turn) //nolint:errcheck // if that fails, the limit ends the turn
	}
	defer context.AfterFunc(ctx, func() {
		c.screen.stop() // the chat ends with this turn
		stop()
	})()
	over := c.user.attend(func() {
		if stopping.Load() {
			c.end(errChatInterrupted)
			cancel()
		}
		stop()
	})
	defer over()
	for msg, err := range c.session.Turn(turn, prompt) {
		if err != nil {
			return stopping.Load(), err
		}
		c.user.asks().settle()
		if err := p.print(msg); err != nil {
			return false, &writeError{err} // nobody hears the rest: Close interrupts the turn
		}
		c.follow(msg)
	}
	return stopping.Load(), nil
}

// follow takes note of a message, and tells on stderr what happens besides the answer.
func (c *chat) follow(msg wire.Message) {
	c.status.follow(msg)
	c.screen.follow(msg)
	if m, ok := msg.(*wire.SessionReconnectedMessage); ok {
		how := "another one goes on with the conversation"
		if !m.Resumed {
			how = "another one begins the conversation anew"
		}
		c.screen.note(strings.TrimPrefix(m.Error, "clew: ") + "; " + how)
		c.screen.busy("thinking")
	}
}
