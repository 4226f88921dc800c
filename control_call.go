package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// call sends a control request and returns the answer. What the answer lacks is zero, and so is a field that does not
// fit its type. All of it is zero when the agent answers with nothing but success.
func call[T any](ctx context.Context, s *Session, subtype string, in any) (*T, error) {
	body, err := s.request(ctx, subtype, in)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := s.readAnswer(subtype, body, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// readAnswer reads the answer to a control request, and leaves out what does not fit.
func (s *Session) readAnswer(subtype string, body wire.JSON, answer any) error {
	if absent(body) {
		return nil
	}
	return looseReader{"the agent's answer to " + subtype, s.log}.decode(body, answer)
}
