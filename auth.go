package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/wire"
)

// An OAuthTokenFunc returns a fresh access token for the account that the agent works for. The agent asks when its own
// is refused or runs out. Nil without an error means that somebody else answers: nothing is sent, and the agent goes on
// waiting. Calls may run at once. The context ends when the agent no longer needs the answer or dies.
type OAuthTokenFunc func(ctx context.Context, req *TokenRequest) (*OAuthTokenResult, error)

// A HostAuthTokenFunc returns a fresh token for the gateway that the agent reaches its model through. The rest is as
// for an [OAuthTokenFunc].
type HostAuthTokenFunc func(ctx context.Context, req *TokenRequest) (*HostAuthTokenResult, error)

// A TokenRequest is the agent's request for a fresh token.
type TokenRequest struct {
	raw wire.JSON
}

// Raw returns the body of the control request, whose fields this package does not know.
func (r *TokenRequest) Raw() wire.JSON { return r.raw }

// An OAuthTokenResult is the answer to a [TokenRequest] for an access token. It is not recorded.
type OAuthTokenResult struct {
	// AccessToken is the token. Empty, which becomes null, means that there is none.
	AccessToken string
	// Reason says why there is none. It may be empty.
	Reason string
}

// A HostAuthTokenResult is the answer to a [TokenRequest] for a gateway's token. It is not recorded.
type HostAuthTokenResult struct {
	// AuthToken is the token. Empty, which becomes null, means that there is none.
	AuthToken string
}

// A token is secret, or null.
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
	return c.guardToken(ctx, "OnOAuthToken", func() (any, error) {
		result, err := c.options.OnOAuthToken(ctx, &TokenRequest{body})
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
	return c.guardToken(ctx, "OnHostAuthToken", func() (any, error) {
		result, err := c.options.OnHostAuthToken(ctx, &TokenRequest{body})
		if result == nil || err != nil {
			return nil, err
		}
		return hostAuthTokenAnswer{orNull(result.AuthToken)}, nil
	})
}

// guardToken is guard for a callback that returns secrets: its error, which goes to the agent, is masked.
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
