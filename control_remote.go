package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// SetRemoteControl lets the user's other devices take part in the session, or ends that. The agent refuses where the
// account or the endpoint does not permit it. The answer is empty, or of a shape that is not known to this package.
func (s *Session) SetRemoteControl(ctx context.Context, enabled bool) (wire.JSON, error) {
	answer, err := call[wire.JSON](ctx, s, "remote_control", remoteControlRequest{enabled})
	if err != nil {
		return "", err
	}
	return *answer, nil
}

type remoteControlRequest struct {
	Enabled bool `json:"enabled"`
}

// EnableChannel lets an MCP server write messages into the session. The agent refuses unless the server is connected
// and comes from a plugin of a marketplace.
func (s *Session) EnableChannel(ctx context.Context, server string) error {
	return s.Control(ctx, "channel_enable", mcpServerRequest{server}, nil)
}

// LaunchUltrareview starts a review of the project on machines of the agent's maker, which costs money. The fields of
// the request are not known to this package: fields is anything that marshals to a JSON object, or nil.
func (s *Session) LaunchUltrareview(ctx context.Context, fields any) (*UltrareviewLaunch, error) {
	return call[UltrareviewLaunch](ctx, s, "ultrareview_launch", fields)
}

// An UltrareviewLaunch says whether a review was started.
type UltrareviewLaunch struct {
	// Status is error if it was not, and Message says why, for people.
	Status  string `json:"status"`
	Message string `json:"message"`
	// GateBlocker names what keeps the account from it, such as kill_switch.
	GateBlocker string `json:"gate_blocker"`
}
