package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// The text of an error ends up in logs, so it is masked; the fields hold what the agent wrote.
func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "no access with sk-ant-api03-abc"
	refused := &ControlError{Subtype: "mcp_call", Message: secret}
	failed := &ResultError{Result: &wire.ResultMessage{Errors: []string{secret}}}
	for err, want := range map[error]string{
		refused: "clew: the agent refused mcp_call: no access with sk-ant-***",
		failed:  "clew: the turn failed: no access with sk-ant-***",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	if refused.Message != secret || failed.Text() != secret {
		t.Errorf("message %q, text %q", refused.Message, failed.Text())
	}
}

const (
	oauthRequest    = `{"subtype":"oauth_token_refresh","token_state":"refused","refused_call":"model"}`
	hostAuthRequest = `{"subtype":"host_auth_token_refresh","status":401}`
)

// oauth is a host that answers with a result and an error.
func oauth(result *OAuthTokenResult, err error) *Options {
	return &Options{OnOAuthToken: func(_ context.Context, req *OAuthTokenRequest) (*OAuthTokenResult, error) {
		if req.TokenState != "refused" || req.RefusedCall != "model" || req.Raw() != oauthRequest {
			return nil, fmt.Errorf("request %+v", req)
		}
		return result, err
	}}
}

func TestOAuthToken(t *testing.T) {
	t.Parallel()
	wantAnswer(t, oauth(&OAuthTokenResult{AccessToken: "fresh"}, nil), oauthRequest, `{"accessToken":"fresh"}`)
	wantAnswer(t, oauth(&OAuthTokenResult{Reason: "logged out"}, nil), oauthRequest,
		`{"accessToken":null,"reason":"logged out"}`)
	wantError(t, oauth(nil, nil), oauthRequest, errNoAnswer.Error())
	wantError(t, oauth(nil, nil), `{"subtype":"oauth_token_refresh","token_state":1}`,
		"clew: oauth_token_refresh: field token_state has the wrong type: number")
	wantError(t, oauth(nil, errors.New("refused: token=abcdef")), oauthRequest, "refused: token=***")
}

func TestHostAuthToken(t *testing.T) {
	t.Parallel()
	host := &Options{OnHostAuthToken: func(_ context.Context, req *HostAuthTokenRequest) (*HostAuthTokenResult, error) {
		if req.Status != 401 || req.Raw() != hostAuthRequest {
			t.Errorf("request %s", req.Raw())
		}
		return &HostAuthTokenResult{"fresh"}, nil
	}}
	wantAnswer(t, host, hostAuthRequest, `{"authToken":"fresh"}`)
	host.OnHostAuthToken = func(context.Context, *HostAuthTokenRequest) (*HostAuthTokenResult, error) { return nil, nil }
	wantError(t, host, hostAuthRequest, errNoAnswer.Error())
	host.OnHostAuthToken = func(context.Context, *HostAuthTokenRequest) (*HostAuthTokenResult, error) {
		return new(HostAuthTokenResult), nil
	}
	wantAnswer(t, host, hostAuthRequest, `{"authToken":null}`)
}

// The agent and the log get the panic of a callback without the token in it.
func TestTokenPanicIsMasked(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	host := &Options{
		Logger:       slog.New(slog.NewTextHandler(&log, nil)),
		OnOAuthToken: func(context.Context, *OAuthTokenRequest) (*OAuthTokenResult, error) { panic("token=abcdef") },
	}
	wantError(t, host, oauthRequest, "clew: panic in OnOAuthToken: token=***")
	if text := log.String(); strings.Contains(text, "abcdef") || !strings.Contains(text, "token=***") {
		t.Errorf("log %s", text)
	}
}

// Neither direction of a recording has secrets, and its frames stay frames.
func TestSecretsAreNotRecorded(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"accessToken":"hush"}}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"authToken":"hush"}}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"claude_oauth_callback",` +
			`"authorizationCode":"hush"}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"mcp_oauth_callback_url",` +
			`"callbackUrl":"http://localhost/?code=hush"}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"mcpServers":[` +
			`{"name":"x","status":"connected","config":{"type":"http","url":"https://x.example","headers":{"X-Team":"hush"}}}]}}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"effective":{"env":{"PLACE":"hush"}}}}}`,
		`{"type":"user","message":{"role":"user","content":"log in with DB_PASSWORD=hush12"},"uuid":"r"}`,
	} {
		var record strings.Builder
		r := &recorder{log: slog.New(slog.DiscardHandler), dst: &record}
		r.received(wire.Decode([]byte(frame)))
		if _, err := r.input(discardInput{}).Write([]byte(frame + "\n")); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(record.String()) {
			if strings.Contains(line, "hush") || !strings.Contains(line, `"r"`) || !json.Valid([]byte(line[2:])) {
				t.Errorf("recorded %s", line)
			}
		}
		if n := strings.Count(record.String(), "\n"); n != 2 {
			t.Errorf("%d lines were recorded, want 2", n)
		}
	}
}

// discardInput is a connection that takes input.
type discardInput struct{ Connection }

func (discardInput) Write(p []byte) (int, error) { return len(p), nil }

func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "sk-ant-api03-x", "it's", "\xff\x00", "$HOME `x`"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) { quote(text) })
}
