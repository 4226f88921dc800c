package redact

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

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
		if got := Mask(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{ "b" : 1.50, "a":"x", "env":{"A":"b","N":12,"on":true,"":null} }`: `{ "b" : 1.50, "a":"x", "env":{"A":"***","N":0,"on":true,"":null} }`,
		`{"headers":{"X":"a"},"x":"y"}`:                                     `{"headers":{"X":"***"},"x":"y"}`,
		`{"token":["a",{"b":"c"}],"x":["d"],"input_tokens":5}`:              `{"token":["***",{"b":"***"}],"x":["d"],"input_tokens":5}`,
		`{"a":{"apiKey":"b"},"c":"d"}`:                                      `{"a":{"apiKey":"***"},"c":"d"}`,
		`{"a":"say \u0073k-ant-b <x>"}`:                                     `{"a":"say sk-ant-*** <x>"}`,
		`{"password":"","key":null}`:                                        `{"password":"","key":null}`,
		`{"args":["--token","x","y",{"key":"a"},"b"]}`:                      `{"args":["--token","***","y",{"key":"***"},"b"]}`,
		`{"args":["-v","--api-key=x1","--api-key",5]}`:                      `{"args":["-v","--api-key=***","--api-key",0]}`,
		`["sk-ant-a"]`:       `["sk-ant-***"]`,
		`"sk-ant-a"`:         `"sk-ant-***"`,
		`-1.5e3`:             `-1.5e3`,
		`not JSON: sk-ant-a`: `not JSON: sk-ant-***`,
	} {
		if got := MaskJSON(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// Many beginnings of tokens before a token don't let it pass.
func TestMaskAfterManyBeginnings(t *testing.T) {
	t.Parallel()
	payload := strings.Repeat("c3ViamVjdA", 200)
	text := strings.Repeat("-eyJ", soak.Size(2_000, 20_000)) + " eyJhbGciOiJIUzI1NiJ9." + payload + ".c2lnbmF0dXJl end"
	if got := Mask(text); strings.Contains(got, "c3Vi") || strings.Contains(got, "c2ln") || !strings.HasSuffix(got, " end") {
		t.Errorf("left %.200q", got[max(0, len(got)-200):])
	}
}

func TestMaskTakesLongTexts(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"sk-ant-", "token=", "://a@", "eyJ", "Bearer ", "a:b@", "((((", "\x00"} {
		text := strings.Repeat(piece, 1<<15/len(piece))
		if got := Mask(text); len(got) > 2*len(text) {
			t.Errorf("%q: %d bytes became %d", piece, len(text), len(got))
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
		got := Mask(text)
		if key.MatchString(got) {
			t.Errorf("%q became %q", text, got)
		}
		if again := Mask(got); again != got {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
		if masked := MaskJSON(text); json.Valid([]byte(text)) && !json.Valid([]byte(masked)) {
			t.Errorf("%q became %q", text, masked)
		}
	})
}
