package clew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// The text of an error ends up in logs; what the agent said is in its fields.
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

// A panic of a callback reaches the agent and the log without the token in it.
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

func TestTokensAreNotRecorded(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"accessToken":"hush"}}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"authToken":"hush"}}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"claude_oauth_callback",` +
			`"authorizationCode":"hush"}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"mcp_oauth_callback_url",` +
			`"callbackUrl":"http://localhost/?code=hush"}}`,
	} {
		if got := discreet(frame); strings.Contains(got, "hush") || !strings.Contains(got, `"r"`) {
			t.Errorf("recorded %s", got)
		}
	}
	const prompt = `{"type":"user","message":{"role":"user","content":"{\"accessToken\":\"example\"}"}}`
	if got := discreet(prompt); got != prompt {
		t.Errorf("a prompt was recorded as %s", got)
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", ""},
		{"nothing to hide", "nothing to hide"},
		{"key sk-ant-api03-AbC_dEf-123 here", "key sk-ant-*** here"},
		{"xsk-ant-a", "xsk-ant-***"},
		{"sk-ant-oat01-a\nsk-ant-b", "sk-ant-***\nsk-ant-***"},
		{"sk-proj-abcdefghijklmnop", "sk-***"},
		{"ghp_abcdefghijklmnopqrst, github_pat_11ABCDEFG0123456789", "ghp_***, github_pat_***"},
		{"AKIAIOSFODNN7EXAMPLE", "AKIA***"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_", "eyJ***"},
		{"Authorization: Bearer abc.def", "Authorization: Bearer ***"},
		{"authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"},
		{"sent Bearer abcdefgh12345678", "sent Bearer ***"},
		{"https://user:pass@example.com/x?y=z@w", "https://***@example.com/x?y=z@w"},
		{"https://user:p@ss@example.com/", "https://***@example.com/"},
		{"postgres://u:p@db:5432/d", "postgres://***@db:5432/d"},
		{`{"api_key": "abc", "n": 1}`, `{"api_key": "***", "n": 1}`},
		{"token=abc&x=1", "token=***&x=1"},
		{"ANTHROPIC_AUTH_TOKEN=abc OTHER=1", "ANTHROPIC_AUTH_TOKEN=*** OTHER=1"},
		{"password: hunter2; next", "password: ***; next"},
		{"max_tokens: 50000 > 32000", "max_tokens: 50000 > 32000"},
		{"the token has expired", "the token has expired"},
		{"mail me@example.com", "mail me@example.com"},
		{"\xff\x00sk-ant-x\xfe", "\xff\x00sk-ant-***\xfe"},
	}
	for _, tt := range tests {
		if got := mask(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestMaskTakesLongTexts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"sk-ant-", "token=", "://a@", "eyJ", "Bearer ", "a:b@", "((((", "\x00"} {
		text := strings.Repeat(part, 1<<15/len(part))
		if got := mask(text); len(got) > 2*len(text) {
			t.Errorf("%q: %d bytes became %d", part, len(text), len(got))
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, seed := range []string{
		"", "sk-ant-api03-x", "sk-sk-ant-ant-x", "token: Bearer sk-ant-x", "https://sk-ant-a:b@c",
		`{"token":"sk-ant-\u0041"}`, "\xffsk-ant-\xff",
	} {
		f.Add(seed)
	}
	key := regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]`)
	f.Fuzz(func(t *testing.T, text string) {
		got := mask(text)
		if key.MatchString(got) {
			t.Errorf("%q became %q", text, got)
		}
		if again := mask(got); again != got {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
		maskJSON(text)
		quote(text)
	})
}
