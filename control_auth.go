package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

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
