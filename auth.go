package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/internal/redact"
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
			return nil, errors.New(redact.Mask(err.Error()))
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

// AuthenticateMCP begins to log in to an MCP server with OAuth, and returns the page that the user has to visit. The
// server connects once the browser came back, to the agent itself or with [Session.FinishMCPAuth]. redirect is where
// the page leads back to, such as a link that opens an editor; empty means a port of this machine. The error is a
// [*ControlError] for a server that is not there or has no such login.
func (s *Session) AuthenticateMCP(ctx context.Context, server, redirect string) (*MCPAuth, error) {
	return call[MCPAuth](ctx, s, "mcp_authenticate", mcpAuthRequest{server, redirect})
}

type mcpAuthRequest struct {
	ServerName  string `json:"serverName"`
	RedirectURI string `json:"redirectUri,omitempty"`
}

// An MCPAuth is a login to an MCP server that has begun.
type MCPAuth struct {
	// URL is the page for the user. It comes from the server: don't open what is no web page.
	URL string `json:"authUrl"`
	// RequiresUserAction is false if the agent had all that it needs, and there is no page.
	RequiresUserAction bool `json:"requiresUserAction"`
	// CallbackExpected is true while the agent waits for the browser to come back.
	CallbackExpected bool `json:"callbackExpected"`
	// RedirectScheme is localhost, with the port in CallbackPort, or custom.
	RedirectScheme string `json:"redirectScheme"`
	CallbackPort   int    `json:"callbackPort"`
	// State tells this login from others in the address that the browser comes back with.
	State string `json:"state"`
}

// FinishMCPAuth gives the agent the address that the browser came back with, whole, where it could not reach the agent
// by itself. The agent refuses an address without a code, and a server whose login has not begun.
func (s *Session) FinishMCPAuth(ctx context.Context, server, callbackURL string) error {
	return s.Control(ctx, "mcp_oauth_callback_url", mcpCallbackRequest{server, callbackURL}, nil)
}

type mcpCallbackRequest struct {
	ServerName  string `json:"serverName"`
	CallbackURL string `json:"callbackUrl"`
}

// ClearMCPAuth has the agent forget the login to an MCP server, and connect anew without it.
func (s *Session) ClearMCPAuth(ctx context.Context, server string) error {
	return s.Control(ctx, "mcp_clear_auth", mcpServerRequest{server}, nil)
}

// AuthenticateClaude begins to log in the user, and returns the pages where that is done. Finish it with
// [Session.FinishClaudeAuth], or wait with [Session.WaitClaudeAuth] for the browser to come back.
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
	ClaudeSubscription ClaudeAccount = "subscription"
	// ClaudeConsole is an account that pays for what it uses.
	ClaudeConsole ClaudeAccount = "console"
)

// A ClaudeAuth is a login of the user that has begun.
type ClaudeAuth struct {
	// ManualURL is a page that ends with a code for the user to copy.
	ManualURL string `json:"manualUrl"`
	// AutomaticURL is a page that leads back to the agent. It needs a browser on the same machine.
	AutomaticURL string `json:"automaticUrl"`
}

// FinishClaudeAuth gives the agent the code of [ClaudeAuth.ManualURL], and the state, which follows it after a "#". It
// waits until the agent has traded it for a token. A code that fails ends the login. The answer's shape is not known to
// this package.
func (s *Session) FinishClaudeAuth(ctx context.Context, code, state string) (wire.JSON, error) {
	return s.claudeAuthEnd(ctx, "claude_oauth_callback", claudeCallbackRequest{code, state})
}

type claudeCallbackRequest struct {
	AuthorizationCode string `json:"authorizationCode"`
	State             string `json:"state"`
}

// WaitClaudeAuth waits until the user has logged in. The agent refuses if no login has begun, and when it fails. The
// answer's shape is not known to this package.
func (s *Session) WaitClaudeAuth(ctx context.Context) (wire.JSON, error) {
	return s.claudeAuthEnd(ctx, "claude_oauth_wait_for_completion", nil)
}

func (s *Session) claudeAuthEnd(ctx context.Context, subtype string, in any) (wire.JSON, error) {
	answer, err := call[wire.JSON](ctx, s, subtype, in)
	if err != nil {
		return "", err
	}
	return *answer, nil
}
