package natsfleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/fleet"
)

var _ fleet.Identifier = (*Engine)(nil)

// identitySubject is the subject on which a server tells a connection its user.
const identitySubject = "$SYS.REQ.USER.INFO"

// Identity implements [fleet.Identifier]: the server says whom it authenticated. The programs of the user who owns the
// directory of a server have a common secret, so that nothing tells them apart, and have no name. The same holds for a
// user who may not ask, since the permissions of an external server lack the subject that [Permissions] has for it.
func (e *Engine) Identity(ctx context.Context) (string, error) {
	if e.client.NKey != "" && e.opts.NKey == "" || e.client.Token != "" { // several share it
		return "", nil
	}
	var answer struct {
		Data struct {
			User string `json:"user"`
		} `json:"data"`
	}
	switch err := e.ask(ctx, identitySubject, nil, &answer); {
	case errors.Is(err, nats.ErrPermissionViolation):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("natsfleet: %w", e.wrapError(ctx, "ask for the user", err))
	}
	return answer.Data.User, nil
}
