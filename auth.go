package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// An OAuthTokenFunc returns a fresh access token for the account that the agent works for. The
// agent asks when the API refuses the token that it was started with, in the variable
// CLAUDE_CODE_OAUTH_TOKEN. Claude Code 2.1.325 asks only if the variable CLAUDE_CODE_ENTRYPOINT
// names a host that has tokens: claude-desktop, claude-vscode or local-agent.
//
// Nil without an error means that another host answers: nothing is sent, and the agent keeps
// waiting. Calls may run concurrently. The context ends when the agent no longer needs the answer
// or exits.
type OAuthTokenFunc func(ctx context.Context, req *OAuthTokenRequest) (*OAuthTokenResult, error)

// An OAuthTokenRequest is the agent's request for a fresh access token.
type OAuthTokenRequest struct {
	raw wire.JSON

	// TokenState is the problem with the agent's token, such as "refused".
	TokenState string `json:"token_state"`
	// RefusedCall names the call that the token was refused for, such as "model".
	RefusedCall string `json:"refused_call"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *OAuthTokenRequest) Raw() wire.JSON { return r.raw }

// An OAuthTokenResult is the answer to an [OAuthTokenRequest]. The token is not recorded.
type OAuthTokenResult struct {
	// AccessToken is the token. Empty, which becomes null, means that there is none.
	AccessToken string
	// Reason explains why there is no token. It may be empty.
	Reason string
}

// A HostAuthTokenFunc returns a fresh token for the gateway through which the agent reaches its
// model. The agent asks when the gateway refuses the token in the variable ANTHROPIC_AUTH_TOKEN.
// Claude Code 2.1.325 asks only with CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST=1, and with
// claude-desktop or local-agent in CLAUDE_CODE_ENTRYPOINT. Results, concurrency and context are as
// for an [OAuthTokenFunc].
type HostAuthTokenFunc func(ctx context.Context, req *HostAuthTokenRequest) (*HostAuthTokenResult, error)

// A HostAuthTokenRequest is the agent's request for a fresh token for a gateway.
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
	if err := rawjson.Decode("oauth_token_refresh", body, req); err != nil {
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
	if err := rawjson.Decode("host_auth_token_refresh", body, req); err != nil {
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

// guardToken is guard for a callback that handles secrets. It masks the error, which goes to the
// agent.
func (c *callbacks) guardToken(ctx context.Context, name string, run func() (any, error)) (wire.JSON, error) {
	return c.guard(ctx, name, func() (any, error) {
		answer, err := run()
		switch {
		case err != nil:
			return nil, errors.New(redact.Mask(err.Error()))
		case answer == nil:
			return nil, errNoAnswer
		}
		return answer, nil
	})
}

// orNull returns nil for an empty token.
func orNull(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

// AuthenticateMCP starts a login to an MCP server with OAuth and returns the page that the user has
// to visit. The agent connects to the server when the browser returns from the page, either to the
// agent itself or with [Session.FinishMCPAuth]. redirect is the return address of the page, such as
// a link that opens an editor; empty means a port of this machine. The error is a [*ControlError]
// for a server that does not exist or has no such login.
func (s *Session) AuthenticateMCP(ctx context.Context, server, redirect string) (*MCPAuth, error) {
	return call[MCPAuth](ctx, s, "mcp_authenticate", mcpAuthRequest{server, redirect})
}

type mcpAuthRequest struct {
	ServerName  string `json:"serverName"`
	RedirectURI string `json:"redirectUri,omitempty"`
}

// An MCPAuth is a login to an MCP server that started.
type MCPAuth struct {
	// URL is the page for the user. It comes from the server: check that it is a web page before
	// you open it.
	URL string `json:"authUrl"`
	// RequiresUserAction is false if the login needs no page.
	RequiresUserAction bool `json:"requiresUserAction"`
	// CallbackExpected is true while the agent waits for the browser to return.
	CallbackExpected bool `json:"callbackExpected"`
	// RedirectScheme is localhost or custom.
	RedirectScheme string `json:"redirectScheme"`
	// CallbackPort is the port on localhost that the browser returns to.
	CallbackPort int `json:"callbackPort"`
	// State identifies this login in the address that the browser returns with.
	State string `json:"state"`
}

// FinishMCPAuth sends the agent the complete address that the browser returned with, if the browser
// could not reach the agent itself. The agent refuses an address without a code, and a server whose
// login has not started.
func (s *Session) FinishMCPAuth(ctx context.Context, server, callbackURL string) error {
	return s.Control(ctx, "mcp_oauth_callback_url", mcpCallbackRequest{server, callbackURL}, nil)
}

type mcpCallbackRequest struct {
	ServerName  string `json:"serverName"`
	CallbackURL string `json:"callbackUrl"`
}

// ClearMCPAuth makes the agent forget the login to an MCP server and connect again without it.
func (s *Session) ClearMCPAuth(ctx context.Context, server string) error {
	return s.Control(ctx, "mcp_clear_auth", mcpServerRequest{server}, nil)
}

// AuthenticateClaude starts a login of the user and returns the pages to visit. The end of the
// login has answers that this package does not know, so it goes through [Session.Control]: send
// claude_oauth_wait_for_completion to wait for the browser, or claude_oauth_callback with the
// fields authorizationCode and state, which are the two parts of the code that
// [ClaudeAuth.ManualURL] shows, separated by "#".
func (s *Session) AuthenticateClaude(ctx context.Context, account ClaudeAccount) (*ClaudeAuth, error) {
	return call[ClaudeAuth](ctx, s, "claude_authenticate", claudeAuthRequest{account != ClaudeConsole})
}

type claudeAuthRequest struct {
	LoginWithClaudeAI bool `json:"loginWithClaudeAi"`
}

// A ClaudeAccount is a kind of account that a user logs in with.
type ClaudeAccount string

// The accounts that the agent knows. Empty means [ClaudeSubscription].
const (
	// ClaudeSubscription is an account with a monthly plan.
	ClaudeSubscription ClaudeAccount = "subscription"
	// ClaudeConsole is an account that pays for each request.
	ClaudeConsole ClaudeAccount = "console"
)

// A ClaudeAuth is a login of the user that started.
type ClaudeAuth struct {
	// ManualURL is a page that ends with a code for the user to copy.
	ManualURL string `json:"manualUrl"`
	// AutomaticURL is a page that returns to the agent. It needs a browser on the same machine.
	AutomaticURL string `json:"automaticUrl"`
}
