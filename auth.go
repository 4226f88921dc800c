package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/wire"
)

// An OAuthTokenFunc returns a fresh access token for the account that the agent works for. The agent asks when the one
// that it was started with, in the variable CLAUDE_CODE_OAUTH_TOKEN, is refused. Claude Code 2.1.325 asks only hosts
// that it knows to have tokens, by the variable CLAUDE_CODE_ENTRYPOINT: claude-desktop, claude-vscode or local-agent.
//
// Nil without an error means that somebody else answers: nothing is sent, and the agent goes on waiting. Calls may run
// at once. The context ends when the agent no longer needs the answer or dies.
type OAuthTokenFunc func(ctx context.Context, req *OAuthTokenRequest) (*OAuthTokenResult, error)

// An OAuthTokenRequest is the agent's request for a fresh access token.
type OAuthTokenRequest struct {
	raw wire.JSON

	// TokenState says what is wrong with the token that the agent has, such as refused.
	TokenState string `json:"token_state"`
	// RefusedCall says what the token was refused for, such as model.
	RefusedCall string `json:"refused_call"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *OAuthTokenRequest) Raw() wire.JSON { return r.raw }

// An OAuthTokenResult is the answer to an [OAuthTokenRequest]. The token is not recorded.
type OAuthTokenResult struct {
	// AccessToken is the token. Empty, which becomes null, means that there is none.
	AccessToken string
	// Reason says why there is none. It may be empty.
	Reason string
}

// A HostAuthTokenFunc returns a fresh token for the gateway that the host lets the agent reach its model through. The
// agent asks when the one in the variable ANTHROPIC_AUTH_TOKEN is refused. Claude Code 2.1.325 asks only with
// CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST=1, and with claude-desktop or local-agent in CLAUDE_CODE_ENTRYPOINT. The rest is
// as for an [OAuthTokenFunc].
type HostAuthTokenFunc func(ctx context.Context, req *HostAuthTokenRequest) (*HostAuthTokenResult, error)

// A HostAuthTokenRequest is the agent's request for a fresh token of a gateway.
type HostAuthTokenRequest struct {
	raw wire.JSON

	// Status is the HTTP status that the old token was refused with.
	Status int `json:"status"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *HostAuthTokenRequest) Raw() wire.JSON { return r.raw }

// A HostAuthTokenResult is the answer to a [HostAuthTokenRequest]. The token is not recorded.
type HostAuthTokenResult struct {
	// AuthToken is the token. Empty, which becomes null, means that there is none.
	AuthToken string
}

type oauthTokenAnswer struct {
	AccessToken *string `json:"accessToken"`
	Reason      string  `json:"reason,omitempty"`
}

type hostAuthTokenAnswer struct {
	AuthToken *string `json:"authToken"`
}

func (c *callbacks) oauthToken(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	if c.options.OnOAuthToken == nil {
		return "", &unsupportedError{"oauth_token_refresh"}
	}
	req := &OAuthTokenRequest{raw: body}
	if err := decode("oauth_token_refresh", body, req); err != nil {
		return "", err
	}
	return c.guardToken(ctx, "OnOAuthToken", func() (any, error) {
		result, err := c.options.OnOAuthToken(ctx, req)
		if result == nil || err != nil {
			return nil, err
		}
		return oauthTokenAnswer{orNull(result.AccessToken), result.Reason}, nil
	})
}

func (c *callbacks) hostAuthToken(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	if c.options.OnHostAuthToken == nil {
		return "", &unsupportedError{"host_auth_token_refresh"}
	}
	req := &HostAuthTokenRequest{raw: body}
	if err := decode("host_auth_token_refresh", body, req); err != nil {
		return "", err
	}
	return c.guardToken(ctx, "OnHostAuthToken", func() (any, error) {
		result, err := c.options.OnHostAuthToken(ctx, req)
		if result == nil || err != nil {
			return nil, err
		}
		return hostAuthTokenAnswer{orNull(result.AuthToken)}, nil
	})
}

// guardToken is guard for a callback that handles secrets: its error, which goes to the agent, is masked.
func (c *callbacks) guardToken(ctx context.Context, name string, run func() (any, error)) (wire.JSON, error) {
	return c.guard(ctx, name, func() (any, error) {
		answer, err := run()
		switch {
		case err != nil:
			return nil, errors.New(mask(err.Error()))
		case answer == nil:
			return nil, errNoAnswer
		}
		return answer, nil
	})
}

// orNull returns nil for a token that is not there.
func orNull(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}
