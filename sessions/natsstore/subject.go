package natsstore

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/clewdev/clew/wire"
)

// own stands for the empty subpath. No other subpath is a slash.
const own = "/"

// maxSubject is the length of a subject that still leaves room in a line of the protocol, which is 4096 bytes long.
const maxSubject = 2048

// subject returns where a transcript is, or an error for a key that is bad or too long.
func (s *Store) subject(key wire.SessionKey) (string, error) {
	if err := key.Check(); err != nil {
		return "", err
	}
	last := own
	if key.Subpath != "" {
		last = escape(key.Subpath)
	}
	subject := s.pattern(escape(key.Project), escape(key.SessionID), last)
	if len(subject) > maxSubject {
		return "", fmt.Errorf("natsstore: a key of %d bytes is too long", len(key.String()))
	}
	return subject, nil
}

// pattern returns a subject from its tokens.
func (s *Store) pattern(project, session, subpath string) string {
	return strings.Join([]string{s.name, project, session, subpath}, ".")
}

// key is the inverse of subject.
func (s *Store) key(subject string) (wire.SessionKey, error) {
	var key wire.SessionKey
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return key, fmt.Errorf("%q is not the subject of a transcript", subject)
	}
	if tokens[3] == own {
		tokens[3] = ""
	}
	for i, part := range []*string{&key.Project, &key.SessionID, &key.Subpath} {
		var err error
		if *part, err = unescape(tokens[i+1]); err != nil {
			return key, fmt.Errorf("%q is not the subject of a transcript: %w", subject, err)
		}
	}
	return key, key.Check()
}

// escape makes a name part of a subject, where dots, stars and spaces have a meaning.
func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '/'
}

func unescape(token string) (string, error) {
	head, rest, found := strings.Cut(token, "=")
	if !found {
		return token, nil
	}
	var b strings.Builder
	for b.WriteString(head); found; {
		if len(rest) < 2 {
			return "", hex.ErrLength
		}
		c, err := hex.DecodeString(rest[:2])
		if err != nil {
			return "", err
		}
		b.Write(c)
		head, rest, found = strings.Cut(rest[2:], "=")
		b.WriteString(head)
	}
	return b.String(), nil
}
