package clew

import "context"

// call sends a control request and returns the answer. What the answer lacks is zero, and all of it is when the agent
// answers with nothing but success.
func call[T any](ctx context.Context, s *Session, subtype string, in any) (*T, error) {
	answer := new(T)
	if err := s.Control(ctx, subtype, in, answer); err != nil {
		return nil, err
	}
	return answer, nil
}
