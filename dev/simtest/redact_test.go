package simtest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/redact"
)

// secrets has a text for each kind of secret, and the word in it that must not be seen.
var secrets = []struct{ rule, secret, text string }{
	{"private-key", "MIIEpAIBAAKCAQEA1234567890", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890\n-----END RSA PRIVATE KEY-----"},
	{"anthropic-key", "abcDEF_123-456", "refused sk-ant-api03-abcDEF_123-456"},
	{"openai-key", "abcdefghijklmnopqrst1234", "refused sk-abcdefghijklmnopqrst1234"},
	{"github-token", "abcdefghijklmnopqrstuvwxyz0123456789", "refused ghp_abcdefghijklmnopqrstuvwxyz0123456789"},
	{"slack-token", "123456789012-abcdefghij", "refused xoxb-123456789012-abcdefghij"},
	{"slack-token", "XXXXXXXXXXXXXXX", "POST https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXX"},
	{"aws-key", "IOSFODNN7EXAMPLE", "refused AKIAIOSFODNN7EXAMPLE"},
	{"google-key", "a0AfH6SMBabcdefghijklmnop", "refused ya29.a0AfH6SMBabcdefghijklmnop"},
	{"package-token", "abcdefghijklmnopqrstuvwxyz0123456789", "refused npm_abcdefghijklmnopqrstuvwxyz0123456789"},
	{"package-token", "abcdefghijklmnop1234", "refused sk_live_abcdefghijklmnop1234"},
	{"service-token", "CAESIabcdefghijkl0123456", "refused hvs.CAESIabcdefghijkl0123456"},
	{"jwt", "eyJzdWIiOiIxMjM0In0", "refused eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123"},
	{"authorization", "dXNlcjpwYXNzMTIz", "sent Authorization: Basic dXNlcjpwYXNzMTIz"},
	{"authorization", "sid=abc123", "got Set-Cookie: sid=abc123"},
	{"url-password", "s3cr3t", "dial postgres://app:s3cr3t@db:5432/x"},
	{"env", "abcd1234", "GITHUB_TOKEN=abcd1234 make"},
	{"setting", "abcd-1234", `{"apiKey": "abcd-1234"}`},
	{"service-key", "5tAbCdEfGhIjKlMnOpQr", "refused LTAI" + "5tAbCdEfGhIjKlMnOpQr"},
	{"github-token", "abcdefghijklmnopqrstuvwxyz0123456789", "refused \x1b[32mghp_abcdefghijklmnopqrstuvwxyz0123456789\x1b[0m"},
	{"env", "qwertz", "DB_PASSWORD=\x1b[33mqwertz\x1b[0m"},
	{"kubernetes-secret", "YWRtaW5hZG1pbg", "apiVersion: v1\nkind: Secret\ndata:\n  user: YWRtaW5hZG1pbg\n"},
	{"base64", "dG9rZW49Z2hwX2FCM2RFNWdIN2pL", "sent dG9rZW49Z2hwX2FCM2RFNWdIN2pLOW1OMXBRM3NUNXZXN3laOWJDMWRFM2ZHNQ=="},
	{"github-token", "9klmnop4rst8uvwxyz", "refused ghp_abcdefghij0123456\n78" + "9klmnop4rst8uvwxyz"},
	{"option", "s3cretpass", "curl -u admin:s3cretpass https://x.example"},
}

// One table decides what a secret looks like. Errors, logs, recordings and exports all use it.
func TestSecretsAreHiddenEverywhere(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(t *testing.T, text string) string{
		"errors": func(_ *testing.T, text string) string {
			return (&clew.ControlError{Subtype: "mcp_call", Message: text}).Error()
		},
		"logs":       logged,
		"recordings": recorded,
		"exports":    exported,
	} {
		t.Run(name, func(t *testing.T) {
			for _, test := range secrets {
				if got := show(t, test.text); strings.Contains(got, test.secret) || got == "" {
					t.Errorf("%s is shown: %s", test.rule, got)
				}
			}
		})
	}
	for _, rule := range redact.Rules() {
		personal := slices.Contains([]string{"account", "email", "home", "picture"}, rule.Name)
		tested := slices.ContainsFunc(secrets, func(s struct{ rule, secret, text string }) bool { return s.rule == rule.Name })
		if tested == personal {
			t.Errorf("rule %s: tested %t, personal %t", rule.Name, tested, personal)
		}
	}
}

// logged returns the log of a session whose callback fails with the text.
func logged(t *testing.T, text string) string {
	t.Helper()
	var log strings.Builder
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(controlRequest("q", canUse("Bash"))).
			Expect(`{"type":"control_response","response":{"subtype":"error","request_id":"q"}}`).
			Send(resultFrame("done", "p")),
			&clew.Options{
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
					return nil, errors.New(text)
				},
			})
		wantTurn(t, s, "Hi", "result: done")
	})
	return log.String()
}

// recorded returns the recording of a session whose agent gets the text as an argument.
func recorded(t *testing.T, text string) string {
	t.Helper()
	var record strings.Builder
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(resultFrame("done", "p")),
			&clew.Options{Debug: clew.DebugOptions{Record: &record}, ExtraArgs: []string{"--note=" + text}})
		wantTurn(t, s, "Hi", "result: done")
	})
	return record.String()
}

// exported returns a redacted document that has the text as its title.
func exported(t *testing.T, text string) string {
	t.Helper()
	doc := &export.Document{Title: text}
	export.Redact(doc, new(redact.Redactor))
	var b strings.Builder
	if err := export.Write(t.Context(), &b, doc, export.JSON, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
