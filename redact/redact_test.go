package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
)

// redactions has, for each rule, texts in which it finds something, with their redacted forms, and
// texts that it does not change.
var redactions = map[string]struct {
	found map[string]string
	left  []string
}{
	"private-key": {
		map[string]string{
			"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890\nabc=\n-----END RSA PRIVATE KEY-----\nb":                         "a\n-----BEGIN RSA PRIVATE KEY-----[redacted:private-key]-----END RSA PRIVATE KEY-----\nb",
			"-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA1234567890\\n-----END PRIVATE KEY-----":                                           "-----BEGIN PRIVATE KEY-----[redacted:private-key]-----END PRIVATE KEY-----",
			"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\nComment: for (releases)\n\nlQdGBGVb3BlbnNzaC1rZXktdjEAAAAABG5\n(cut)": "-----BEGIN PGP PRIVATE KEY BLOCK-----[redacted:private-key](cut)",
			`-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\nMIIEpAIBAAKCAQEA1234567890\n(cut)`:       `-----BEGIN RSA PRIVATE KEY-----[redacted:private-key](cut)`,
			"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n(cut)":                                         "-----BEGIN OPENSSH PRIVATE KEY-----[redacted:private-key](cut)",
		},
		[]string{"-----BEGIN PUBLIC KEY-----\nMIIEpAIBAAKCAQEA1234567890\n-----END PUBLIC KEY-----", "grep -----BEGIN PRIVATE KEY-----"},
	},
	"anthropic-key": {
		map[string]string{"export K=sk-ant-api03-abcDEF_123-456": "export K=[redacted:anthropic-key]"},
		[]string{"sk-ant-", "task-antelope-runner", "desk-ant-12345678"},
	},
	"openai-key": {
		map[string]string{
			"use sk-abcdefghijklmnopqrst1234 now":     "use [redacted:openai-key] now",
			"(sk-proj-abcdefghij_klmnopqrst12345-x6)": "([redacted:openai-key])",
		},
		[]string{"sk-short1", "risk-abcdefghijklmnopqrstuvwxyz1", "sk-learnabcdefghijklmnopqrstu"},
	},
	"github-token": {
		map[string]string{
			"ghp_abcdefghijklmnopqrstuvwxyz0123456789":      "[redacted:github-token]",
			"x github_pat_11ABCDEFG0abcdefghijkl_mnop y":    "x [redacted:github-token] y",
			"https://oauth2/glpat-abcdefghij0123456789.git": "https://oauth2/[redacted:github-token].git",
		},
		[]string{"ghp_short", "github_pattern_of_something_long", "high_abcdefghijklmnopqrstuvwxyz"},
	},
	"slack-token": {
		map[string]string{
			"xoxb-123456789012-abcdefghij":                               "[redacted:slack-token]",
			"https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXX": "https://hooks.slack.com/services/[redacted:slack-token]",
		},
		[]string{"xoxo", "foxb-1234567890123", "hooks.slack.com/"},
	},
	"aws-key": {
		map[string]string{
			"id AKIAIOSFODNN7EXAMPLE.": "id [redacted:aws-key].",
			"AKIAIOSFODNN7EXAMPLE\twJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY x": "[redacted:aws-key] x",
		},
		[]string{"AKIAIOSFODNN7", "ASIAN countries", "AKIAIOSFODNN7EXAMPLEAKIAIOSFODNN7EXAMPLE"},
	},
	"google-key": {
		map[string]string{
			"AIzaSyA-1234567890abcdefghijklmnopqrstu":       "[redacted:google-key]",
			"AIzaSyA-1234567890abcdefghijklmnopqrstu\nnext": "[redacted:google-key]\nnext",
			"ya29.a0AfH6SMBabcdefghijklmnop":                "[redacted:google-key]",
		},
		[]string{
			"AIza", "GOCSPX-", "xAIzaSyA-1234567890abcdefghijklmnopqrstu",
			"AIzaSyabcdefghijklmnopqrstuvwxyz1234567", "AIzaSyabcdefghijklmnopqrstuvwxyz1234567, which is public",
		},
	},
	"package-token": {
		map[string]string{
			"npm_abcdefghijklmnopqrstuvwxyz0123456789": "[redacted:package-token]",
			"sk_live_abcdefghijklmnop1234":             "[redacted:package-token]",
		},
		[]string{"npm_config_cache", "hf_hub", "sk_live_"},
	},
	"service-token": {
		map[string]string{
			"hvs.CAESIabcdefghijkl0123456":                                             "[redacted:service-token]",
			"SG.abcdefghijklmnop12.abcdefghijklmnopqrstuvwxyz":                         "[redacted:service-token]",
			"(gsk_abcdefghijklmnopqrstuvwxyz0123456789)":                               "([redacted:service-token])",
			"https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstu/send":       "https://api.telegram.org/bot[redacted:service-token]/send",
			"https://discord.com/api/webhooks/12345678901/abcdefghijklmnopqrstu_v":     "https://discord.com/api/webhooks/[redacted:service-token]",
			"AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ": "[redacted:service-token]",
		},
		[]string{"svg.path", "msg.length", "gsk_short", "/api/webhooks/", "api.telegram.org/bots"},
	},
	"jwt": {
		map[string]string{"t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123 u": "t [redacted:jwt] u"},
		[]string{"eyJhbGciOiJIUzI1NiJ9", "eyJ.eyJ.", "eyJhbGciOiJIUzI1NiJ9.abc.def"},
	},
	"authorization": {
		map[string]string{
			"Authorization: Basic dXNlcjpwYXNzMTIz\nAccept: */*": "Authorization: [redacted:authorization]\nAccept: */*",
			`-H "x-api-key: abc123def" -v`:                       `-H "x-api-key: [redacted:authorization]" -v`,
			`{\"authorization\":\"Bearer abc123def456ghi\"}`:     `{\"authorization\":\"[redacted:authorization]\"}`,
			"a bearer abcdefghijkl12345 b":                       "a bearer [redacted:authorization] b",
			"Set-Cookie: sid=abc123; Path=/":                     "Set-Cookie: [redacted:authorization]",
			"curl --cookie 'sid=abc123' x":                       "curl --cookie '[redacted:authorization]' x",
			"sent Basic dXNlcjpwYXNzMTIz to it":                  "sent Basic [redacted:authorization] to it",
			"https://x.example/c?sv=1&sig=abcdefGHIJ0123456%3D":  "https://x.example/c?sv=1&sig=[redacted:authorization]",
			"?X-Amz-Signature=0123456789abcdef0123":              "?X-Amz-Signature=[redacted:authorization]",
		},
		[]string{"Authorization: none given", "the bearer of the ring", "Authorization: $TOKEN", "cookie: a small one", "basic authentication", "sig=0",
			"x.Cookie = append(y[15:])"},
	},
	"url-password": {
		map[string]string{
			"postgres://app:s3cr3t@db:5432/x":                 "postgres://app:[redacted:url-password]@db:5432/x",
			"https://0123456789abcdef01234567@github.com/o/r": "https://[redacted:url-password]@github.com/o/r",
			"https://0123456789abcdef01234567:x-oauth@host/r": "https://[redacted:url-password]@host/r",
		},
		[]string{"https://example.com:8080/a@b", "http://localhost:3000", "redis://:$PASS@host"},
	},
	"env": {
		map[string]string{
			"GITHUB_TOKEN=abcd1234 make":             "GITHUB_TOKEN=[redacted:env] make",
			`DB_PASSWORD="two words" x`:              `DB_PASSWORD="[redacted:env]" x`,
			"DB_PASS=hunter":                         "DB_PASS=[redacted:env]",
			"STRIPE_KEY: abcd1234":                   "STRIPE_KEY: [redacted:env]",
			"export AWS_SECRET_ACCESS_KEY='a/b+c=d'": "export AWS_SECRET_ACCESS_KEY='[redacted:env]'",
		},
		[]string{"MAX_TOKENS=4096", "TOKEN=$OTHER", "API_KEY=", "API_KEY=<your key>", "KEYBOARD=qwerty", "SSH_AUTH_SOCK=/tmp/x.sock"},
	},
	"option": {
		map[string]string{
			"curl -u admin:s3cretpass https://x.example":     "curl -u admin:[redacted:option] https://x.example",
			`curl --user "admin:s3cretpass" x`:               `curl --user "admin:[redacted:option]" x`,
			"curl --user admin:'s3cretpass' x":               "curl --user admin:'[redacted:option]' x",
			`curl -u "9f8e7d6c5b4a39281706:" x`:              `curl -u "[redacted:option]:" x`,
			"curl -b 'sid=0a1b2c3d4e5f' x":                   "curl -b '[redacted:option]' x",
			"tool --api-key abcd1234 -v":                     "tool --api-key [redacted:option] -v",
			"gh auth login --with-token abcd1234":            "gh auth login --with-token [redacted:option]",
			"machine x.example login ann password s3cret123": "machine x.example login ann password [redacted:option]",
			"the password is hunter2hunter":                  "the password is [redacted:option]",
			"aws_secret_access_key = wJalrXUtnFEMI/K7MDEN\n": "aws_secret_access_key = [redacted:option]\n",
			`{"auths":{"ghcr.io":{"auth":"dXNlcjpwYXNz"}}}`:  `{"auths":{"ghcr.io":{"auth":"[redacted:option]"}}}`,
			"Server=db;Uid=sa;Pwd=hunter22;":                 "Server=db;Uid=sa;Pwd=[redacted:option];",
			"sshpass -p 'hunter22' ssh h":                    "sshpass -p '[redacted:option]' ssh h",
			"mysql -uroot -phunter22 db":                     "mysql -uroot -p[redacted:option] db",
			"docker login -u ann -p hunter22 ghcr.io":        "docker login -u ann -p [redacted:option] ghcr.io",
		},
		[]string{
			"docker run -u 1000:1000 img", "git push -u origin main", `curl -u "$USER:$PASS" x`, `curl -u ann:'$PASS2' x`, "curl -u annabel-smith: x", "docker run -p 8080:80 nginx",
			"--token TOKEN", "--password-stdin", "PWD=/srv/v2", "OLDPWD=/srv/v2", "the password must be changed", "auth: true",
			"token = next2()", "secret garden", "git checkout -b 'a b'", "password = os.Getenv2(x)",
		},
	},
	"service-key": {
		map[string]string{
			"id LTAI" + "5tAbCdEfGhIjKlMnOpQr.":                  "id [redacted:service-key].",
			"AIRTABLE=" + "abcdefgh123456789":                    "AIRTABLE=[redacted:service-key]",
			`{\"fastly\": \"abcdefghijklmnopqrstuvwxyz012345\"}`: `{\"fastly\": \"[redacted:service-key]\"}`,
		},
		[]string{"airtable: a table with air", "fastly = /usr/lib/fastly", "LTAI5t", "AIRTABLE=abcdefghijklmnopq"},
	},
	"setting": {
		map[string]string{
			"password: hunter22\n":             "password: [redacted:setting]\n",
			`"apiKey": "abcd-1234"`:            `"apiKey": "[redacted:setting]"`,
			`{\"client_secret\":\"abcd12\"}`:   `{\"client_secret\":\"[redacted:setting]\"}`,
			`$apiToken .= "abcd1234";`:         `$apiToken .= "[redacted:setting]";`,
			`options.apiToken ||= "abcd1234";`: `options.apiToken ||= "[redacted:setting]";`,
			`apiToken ??= 'abcd1234'`:          `apiToken ??= '[redacted:setting]'`,
			"curl --token=abcd1234 x":          "curl --token=[redacted:setting] x",
			"?access_token=abcd1234&x=1":       "?access_token=[redacted:setting]&x=1",
			"//r.example/:_authToken=abcd12":   "//r.example/:_authToken=[redacted:setting]",
			"client-key-data: LS0tLS1CRUdJT":   "client-key-data: [redacted:setting]",
			`apiKey := "abcd1234"`:             `apiKey := "[redacted:setting]"`,
			`:password => "abcd"`:              `:password => "[redacted:setting]"`,
			`x["api_key"] = "abcd1234"`:        `x["api_key"] = "[redacted:setting]"`,
			"<password>abcd</password>":        "<password>[redacted:setting]</password>",
			`"pass": "abcd"`:                   `"pass": "[redacted:setting]"`,
			"AccountKey=abcd1234==;x":          "AccountKey=[redacted:setting];x",
		},
		[]string{
			"password: string;", "token := lexer.next()", `"input_tokens": "12345"`, "the password is required", "token = config.token",
			"token: undefined", "secrets: of the trade", "password=${PASSWORD}",
		},
	},
	"base64": {
		map[string]string{"a dG9rZW49Z2hwX2FCM2RFNWdIN2pLOW1OMXBRM3NUNXZXN3laOWJDMWRFM2ZHNQ== b": "a [redacted:base64] b"},
		[]string{"dGhlIHRva2VuIG9mIGEgcGFzc3dvcmQgaXMgc2VjcmV0", "dG9rZW4", "a token=x password"},
	},
	"kubernetes-secret": {
		map[string]string{
			"kind: Secret\ndata:\n  user: YWRtaW4=\n  other: \"c2VjcmV0\"\ntype: Opaque\n": "kind: Secret\ndata:\n  user: [redacted:kubernetes-secret]\n  other: \"[redacted:kubernetes-secret]\"\ntype: Opaque\n",
			"stringData:\n  a: |\n    first\n    second\nkind: Secret":                     "stringData:\n  a: |\n    [redacted:kubernetes-secret]\n    [redacted:kubernetes-secret]\nkind: Secret",
		},
		[]string{"kind: ConfigMap\ndata:\n  user: YWRtaW4=\n", "kind: Secret\n---\ndata:\n  user: YWRtaW4=\n", "kind: Secret\nmetadata:\n  name: abcd\n"},
	},
	"account": {
		map[string]string{
			`"accountUuid": "0a1b2c3d-0000"`:        `"accountUuid": "[redacted:account]"`,
			"organization_name=Acme-Inc":            "organization_name=[redacted:account]",
			"arn:aws:iam::481273960524:role/deploy": "arn:aws:iam::[redacted:account]:role/deploy",
		},
		[]string{"my account: fine", "organization of the code", "arn:aws:s3:::bucket", "user_agent: Mozilla"},
	},
	"email": {
		map[string]string{"<ann.lee+x@mail.example.co.uk>, b": "<[redacted:email]>, b", "mailto:a@b.org.": "mailto:[redacted:email]."},
		[]string{"git@github.com:o/r.git", "golang.org/x/net@v0.1.0", "@scope/name@1.2.3", "a@b", "noreply@anthropic.com", "x @ y.com"},
	},
	"home": {
		map[string]string{
			"cd /home/ann/code":                "cd /home/user/code",
			"file:///Users/ann.lee/x":          "file:///Users/user/x",
			`C:\Users\Ann Lee\x`:               `C:\Users\user\x`,
			`"C:\\Users\\ann\\x"`:              `"C:\\Users\\user\\x"`,
			"C:/Users/ann/x /mnt/c/Users/ann/": "C:/Users/user/x /mnt/c/Users/user/",
			"projects/-home-ann-code":          "projects/-home-user-code",
			"C--Users-ann-code":                "C--Users-user-code",
			"/home/ann:/home/bob":              "/home/user:/home/user",
			"/var/home/ann/x":                  "/var/home/user/x",
		},
		[]string{
			"/home/user/x", "https://example.com/home/about", "take-home-pay", "--home-dir=x", "/Users/Shared/x", "/home", "./home/ann",
			"basic/users/list",
		},
	},
}

func TestRedactRules(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		if rule.Name == "picture" {
			continue
		}
		tests, ok := redactions[rule.Name]
		if !ok || len(tests.found) == 0 || len(tests.left) == 0 {
			t.Errorf("the rule %s has no tests", rule.Name)
		}
		for text, want := range tests.found {
			var r Redactor
			got := r.Text(text)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", rule.Name, diff)
			}
			if names := slices.Collect(maps.Keys(r.Counts())); !slices.Equal(names, []string{rule.Name}) {
				t.Errorf("%q was found by %v, want %s", text, names, rule.Name)
			}
			if again := new(Redactor).Text(got); again != got {
				t.Errorf("%q is redacted again, to %q", got, again)
			}
		}
		for _, text := range tests.left {
			if got := new(Redactor).Text(text); got != text {
				t.Errorf("%s: %q becomes %q", rule.Name, text, got)
			}
		}
	}
}

// Terminal escapes and invisible characters don't hide a secret.
func TestSecretsInEscapesAreFound(t *testing.T) {
	t.Parallel()
	const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, text := range []string{
		"\x1b]8;;https://user:" + key + "@x.example\x1b\\link\x1b]8;;\x1b\\", "\x1b]0;" + key + "\a", "\x1b[" + key,
		"\u009d0;" + key + "\u009c",
	} {
		if got := new(Redactor).Text(text); strings.Contains(got, key[8:]) {
			t.Errorf("%q became %q", text, got)
		}
		if got := Mask(text); strings.Contains(got, key[8:]) {
			t.Errorf("%q is masked as %q", text, got)
		}
	}
}

func TestHiddenCharactersDontHideSecrets(t *testing.T) {
	t.Parallel()
	const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	secrets := []string{
		key, "sk-ant-api03-abcDEF_123-456", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
	}
	for _, hidden := range []string{
		"\x1b[32m", "\x1b[1;38;5;200m", "\x1b[K", "\x1b[?25h", "\u009b31m", "\x1b]8;;http://x.example\x1b\\", "\x1b]0;title\a",
		"\x1b(B", "\x1bM", "\x1b7", "\x1bP1$r0m\x1b\\", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe0f", "\U000e0041",
		"\u3164", "\u2800", "\u061c", "\u202e",
	} {
		for _, secret := range secrets {
			half := len(secret) / 2
			for _, text := range []string{
				hidden + secret, secret + hidden, "a " + hidden + secret + hidden + " b", secret[:half] + hidden + secret[half:],
				secret[:2] + hidden + secret[2:], "DB_PASSWORD=" + hidden + secret, "pass" + hidden + "word: " + secret,
			} {
				if got := new(Redactor).Text(text); strings.Contains(visible(got), secret[half:]) {
					t.Errorf("%q became %q", text, got)
				}
				if got := Mask(text); strings.Contains(visible(got), secret[half:]) {
					t.Errorf("%q is masked as %q", text, got)
				}
			}
		}
		for _, text := range []string{"a " + hidden + "word" + hidden, hidden, "x" + hidden} {
			if got := new(Redactor).Text(text); got != text {
				t.Errorf("%q has no secret and became %q", text, got)
			}
		}
		if got := new(Redactor).Text("see " + hidden + "/home/ann/x"); got != "see /home/user/x" {
			t.Errorf("%q", got)
		}
	}
	for _, before := range []string{"%3D", "%3a", "%26", "%253D", `\n`, `\t`, `\u003d`, `\x3d`, `\x1b[32m`, `\033[0;32m`, `\e[1m`, `\u001b[32m`} {
		for _, secret := range secrets {
			if got := new(Redactor).Text("x" + before + secret); strings.Contains(got, secret) {
				t.Errorf("%q became %q", before+secret, got)
			}
		}
	}
}

// An escape that does not end hides nothing of the text after it.
func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"plain é 漢字 “x”":                    "plain é 漢字 “x”",
		"a\x1b":                             "a",
		"a\x1b[":                            "a",
		"a\x1b[31":                          "a",
		"a\x1b[31\nb":                       "a\nb",
		"a\x1b]0;no end":                    "a0;no end",
		"a\x1b]0;no end\nb\a":               "a0;no end\nb\a",
		"a\x1b(":                            "a",
		"a\x1b\x1b[1mb":                     "ab",
		"a\x1b\nb":                          "a\nb",
		"\xff\x9b31m":                       "\xff\x9b31m",
		"a\u009d0;t\u009cb":                 "ab",
		strings.Repeat("\x1b]", 3) + "x\ab": "b",
	} {
		if got := visible(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestRedactHome(t *testing.T) {
	t.Parallel()
	r := Redactor{Home: "/data/people/ann"}
	if got := r.Text("in /data/people/ann/code"); got != "in ~/code" {
		t.Errorf("%q", got)
	}
	if got := r.Counts()["home"]; got != 1 {
		t.Errorf("%d found", got)
	}
}

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"password":"x y","n":1.50,"token":null}`:                                      `{"password":"[redacted:setting]","n":1.50,"token":null}`,
		`{"a":["\u0073k-ant-api03-abcdefgh","<b>"]}`:                                    `{"a":["[redacted:anthropic-key]","<b>"]}`,
		`{"cwd":"C:\\Users\\ann\\x","/home/ann":"k"}`:                                   `{"cwd":"C:\\Users\\user\\x","/home/user":"k"}`,
		`["+-----BEGIN PRIVATE KEY-----","+MIIEabc","+-----END PRIVATE KEY-----","+x"]`: `["+-----BEGIN PRIVATE KEY-----","+[redacted:private-key]","+-----END PRIVATE KEY-----","+x"]`,
		`{"token":["a","b"],"x":["c","d"]}`:                                             `{"token":["[redacted:setting]","[redacted:setting]"],"x":["c","d"]}`,
		`{"pass":"a","STRIPE_KEY":"b"}`:                                                 `{"pass":"[redacted:setting]","STRIPE_KEY":"[redacted:setting]"}`,
		`{"auth":"dXNlcjpwYXNz1","pwd":"/srv/v2"}`:                                      `{"auth":"[redacted:setting]","pwd":"/srv/v2"}`,
		`{"data":"iVBORw0KGgo` + strings.Repeat("A", 60) + `"}`:                         `{"data":"[redacted:picture]"}`,
		`{ "a" : "b" }`:             `{ "a" : "b" }`,
		`not json /home/ann/x`:      `not json /home/user/x`,
		`{"accountUuid":"u","x":1}`: `{"accountUuid":"[redacted:account]","x":1}`,
		`"a@b.org"`:                 `"[redacted:email]"`,
	} {
		if diff := cmp.Diff(want, new(Redactor).JSON(text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// almost are texts that nearly match a rule, to be repeated in long lines.
var almost = []string{
	"-----BEGIN PRIVATE KEY-----", "sk-ant-", "eyJabcdefgh.", "eyJ", "eyJabcdefgh.eyJ", "cookie: ", "password=\"", "password ",
	"password\\", "password=\\", "token='x", "a@", "a.b", "://a:b", "://a", "/home/", "C:\\Users\\", `\users\a`, "xox-", "xoxb-",
	"account_id=", "org_id =", "\\", "\"", "KEY", "_KEY=", "-home-", "authorization", "authorization: $", "bearer ", "user@x.y-",
	"-u a:", "curl -u ", "Basic ", "<password>", "machine ", "--token ", "AKIA0000000000000000 ", "sig=", "auth\": \"", "data: ",
	"docker login ", " -u a:", " -b a=", "sshpass -p", "auth=", "pwd=", "hvs.", "/bot1", "<password", "secret = ",
}

// No text makes a rule read the same characters many times: the cost of a line is linear in its
// length.
func TestRedactReadsOnce(t *testing.T) {
	t.Parallel()
	rules, finder := slices.Clone(allRules().rules), allRules().finder
	read := 0
	for i := range rules {
		if match := rules[i].match; rules[i].custom == nil {
			rules[i].match = func(text *prefix) []int {
				defer func() { read += text.at }()
				return match(text)
			}
		}
	}
	for _, piece := range almost {
		for _, gap := range []string{"", "-", strings.Repeat(" ", 50), strings.Repeat(`\`, 50), strings.Repeat("a1", 25)} {
			text := strings.Repeat(piece+gap, soak.Size(2_000, 4_000)/len(piece+gap))
			places := finder.find(text)
			for number := range rules {
				rule := &rules[number]
				if rule.custom != nil || len(places.at[number]) == 0 {
					continue
				}
				read = 0
				most := (readings+1)*len(text) + minPrefix*len(places.at[number])
				rule.apply(text, places.at[number], rule.mark())
				if read > most {
					t.Errorf("%s reads %d letters of %d of %.80q", rule.Name, read, len(text), text)
				}
			}
			finder.release(places)
		}
	}
}

func BenchmarkRedactLongLine(b *testing.B) {
	for _, piece := range []string{"some words of a log ", "password ", "a.b@c ", `{"token":"`} {
		text := strings.Repeat(piece, 10_000_000/len(piece))
		b.Run(strings.TrimSpace(piece), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				new(Redactor).Text(text)
			}
		})
	}
}

func FuzzRedactJSON(f *testing.F) {
	f.Add(`{"password":"a\\\"b","k":["/home/ann","sk-ant-api03-abcdefgh"],"n":-1e5}`)
	f.Add(`"\ud800 TOKEN=abcd1234 \u0000"`)
	f.Fuzz(func(t *testing.T, text string) {
		r := new(Redactor)
		out := r.JSON(text)
		if json.Valid([]byte(text)) && !json.Valid([]byte(out)) {
			t.Fatalf("%q became %q", text, out)
		}
		if again := new(Redactor).JSON(out); json.Valid([]byte(text)) && again != out {
			t.Fatalf("%q is redacted again, to %q", out, again)
		}
	})
}
