package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// A key that is broken by a line end is found, however the next line continues it.
func TestBrokenKeysAreFound(t *testing.T) {
	t.Parallel()
	keys := []string{
		"ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "sk-ant-api03-aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3", "AKIAQ3EGRZ5TWLX7MK2D",
		"xoxb-123456789012-aB3dE5gH7jK9mN1pQ3sT", "glpat-aB3dE5gH7jK9mN1pQ3sT", "gsk_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
	}
	breaks := []string{
		"\n", "\r\n", "\n    ", "\n\t", "\n+", `\n`, `\r\n`, `\n  `, "\\\n", "\" +\n\t\t\"", "' +\n  '", "\" \\\n    \"", "\"\n\"", "\" + \"", "\" .\n\"",
	}
	for _, key := range keys {
		for _, broken := range breaks {
			for _, at := range []int{8, 12, len(key) - 6} {
				if at < len(key)-4 && strings.HasPrefix(key[at:], "-") {
					at++
				}
				for _, place := range []string{"use %s\nand more", "x := \"%s\"\n", "{\"key\": \"%s\"}", "+ '%s'\n"} {
					if strings.ContainsAny(broken, `"'`) && !strings.Contains(place, broken[:1]) {
						continue
					}
					text := fmt.Sprintf(place, key[:at]+broken+key[at:])
					for name, redact := range map[string]func(string) string{"Text": new(Redactor).Text, "Mask": Mask} {
						if got := redact(text); strings.Contains(got, key[len(key)-6:]) || strings.Contains(got, key[4:8]) && !strings.HasPrefix(key, "sk-") {
							t.Errorf("%s: %q became %q", name, text, got)
						}
					}
				}
			}
		}
	}
}

// The text after a key stays, and so does a text that only starts like one.
func TestTextAfterKeysStays(t *testing.T) {
	t.Parallel()
	const key = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
	for text, want := range map[string]string{
		key + "\nand the next line": "[redacted:github-token]\nand the next line",
		key + "\n" + key:            "[redacted:github-token]\n[redacted:github-token]",
		`"` + key + `\nnext: line"`: `"[redacted:github-token]\nnext: line"`,
		"ghp_\nstarts a token":      "ghp_\nstarts a token",
		"a xoxb-\nxoxb-\nxoxb- b":   "a xoxb-\nxoxb-\nxoxb- b",
	} {
		if got := new(Redactor).Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A key in base64 is found, wherever it is in the encoded text.
func TestEncodedKeysAreFound(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"token=ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "sk-ant-api03-aB3dE5gH7jK9mN1pQ3sT5",
		"DB_PASSWORD=hunter22", `{"password": "s3cretpass"}`, "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
	} {
		for _, around := range []string{"%s", "x%s", "xy%s\n", "name: é\n%s\nend of it"} {
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				encoded := encoding.EncodeToString([]byte(strings.ReplaceAll(fmt.Sprintf(around, "\n"+secret), "\n\n", "\n")))
				text := "a " + encoded + " b"
				if got := new(Redactor).Text(text); got != "a [redacted:base64] b" {
					t.Errorf("%q in base64 became %q", secret, got)
				}
				if got := Mask(text); got != "a *** b" {
					t.Errorf("%q in base64 is masked as %q", secret, got)
				}
			}
		}
	}
	for _, plain := range []string{"the token of a password is secret", "package redact // token, password", "\x00\x01\xfftoken=abcd1234"} {
		text := base64.StdEncoding.EncodeToString([]byte(plain))
		if got := new(Redactor).Text(text); got != text {
			t.Errorf("%q in base64 became %q", plain, got)
		}
	}
}
