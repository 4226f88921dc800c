package control

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/clewdev/clew/wire"
)

// requestID finds the id of a request in what is left of its frame.
var requestID = regexp.MustCompile(`"request_id"\s*:\s*"([^"\\]{1,100})"`)

// ErrBroken is the error of a call whose answer could not be read.
var ErrBroken = errors.New("control: the answer could not be read")

// Broken takes note of a frame that could not be read. If it was an answer to a request of ours, nobody must wait for
// it any longer, and if it was a request of the agent, the agent must not wait either.
func (c *Conn) Broken(frame *wire.InvalidFrame) {
	switch frame.Kind().Type {
	case "control_response":
		c.lost(frame)
	case "control_request":
		if id := requestID.FindStringSubmatch(frame.Raw()); id != nil {
			c.answer(id[1], nil, fmt.Errorf("the control request could not be read: %w", frame.Err))
		}
	}
}

// lost fails the calls whose answer is the frame. Ids are long enough not to stand there by accident.
func (c *Conn) lost(frame *wire.InvalidFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, pending := range c.calls {
		if strings.Contains(frame.Raw(), id) {
			delete(c.calls, id)
			pending.err = fmt.Errorf("%w: %w", ErrBroken, frame.Err)
			close(pending.done)
		}
	}
}
