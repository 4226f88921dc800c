package redact

import (
	"strings"
	"testing"
)

// A token at the start of a line, or after a slash, is found whatever is before it.
func TestTokensAfterOtherText(t *testing.T) {
	t.Parallel()
	s := newSampler()
	tokens := map[string]string{
		"vault": "hvs.CAES" + s.pick(alphanumeric, 90), "groq": "gsk_" + s.pick(alphanumeric, 52),
		"facebook": "EAAC" + s.pick(alphanumeric, 120), "scaleway": "SCW" + s.pick(upperLetters, 8) + "12345QRST", "easypost": "EZAK" + s.pick(alphanumeric, 54),
	}
	for name, token := range tokens {
		for _, before := range []string{
			"$ cat /home/ann/services/vault/token\n", "/home/ann/services/vault/token\n", "/home/ann/services/vault/", "/home/ann/services/vault/token\r\n",
			"https://x.example/services/internal/vault/", "/srv/services/production/credentials/backup/archive/storage/vault/token\n", "xs=a+",
			s.pick(hexDigits, 64) + "\n", token[:len(token)-1] + "7\n", strings.Repeat("-", 70) + "\n",
		} {
			text := before + token + "\n"
			if got := new(Redactor).Text(text); strings.Contains(got, token) {
				t.Errorf("Text leaves the token of %s: %q", name, text)
			}
			if got := Mask(text); strings.Contains(got, token) {
				t.Errorf("Mask leaves the token of %s: %q", name, text)
			}
		}
	}
}

// A part of longer data in base64 can look like a token.
func TestDataIsNotToken(t *testing.T) {
	t.Parallel()
	s := newSampler()
	token := "EAAC" + s.pick(alphanumeric, 72)
	for _, text := range []string{
		s.pick(alphanumeric, 76) + "\n" + token + "\n", s.pick(alphanumeric, 76) + "\r\n" + token + "\r\n",
		s.pick(alphanumeric, 75) + "/" + token, s.pick(alphanumeric, 76) + "\n" + s.pick(alphanumeric, 20) + "+" + token,
	} {
		if got := new(Redactor).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
