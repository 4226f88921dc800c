package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Codes and failures.
const (
	// CodeLifetime is the time within which a code can be exchanged for the token.
	CodeLifetime = 2 * time.Minute

	maxCodes    = 16 // that are valid at a time
	maxFailures = 10 // in failureSpan, then nothing is tried for failureSpan
	failureSpan = time.Minute
)

// The sizes of secrets, in bytes.
const (
	tokenSize = 32
	codeSize  = 16 // it lives for two minutes
)

// newSecret returns a number of random bytes as text that fits into a URL.
func newSecret(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// A secret is stored as a hash, so that the time of a comparison reveals nothing about it.
type secret [sha256.Size]byte

func (s *secret) is(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(s[:], sum[:]) == 1
}

// A code can be exchanged for the token once.
type code struct {
	secret
	until time.Time
}

// access knows who may read. There is one token, which a page gets for a code.
type access struct {
	mu      sync.Mutex
	token   string
	hash    secret
	revoked chan struct{} // closed when the token is no longer valid
	codes   []code
	opening time.Time // until then a page on the machine may lead to the server

	badTokens, badCodes failures
}

func newAccess() *access {
	a := &access{}
	a.renew()
	return a
}

// renew replaces the token, and drops the codes.
func (a *access) renew() {
	if a.revoked != nil {
		close(a.revoked)
	}
	a.token, a.codes, a.revoked = newSecret(tokenSize), nil, make(chan struct{})
	a.hash = sha256.Sum256([]byte(a.token))
}

// check refuses a request without the token. The right one is always accepted: others can't lock
// the user out by guessing.
func (a *access) check(r *http.Request) error {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return signIn("this needs a token")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hash.is(token) && len(values) == 1 && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	if err := a.badTokens.add(time.Now()); err != nil {
		return err
	}
	return signIn("the token is not valid, or no longer")
}

// signIn refuses a request until the page has a token.
func signIn(reason string) *refusal {
	return &refusal{
		status: http.StatusUnauthorized, reason: reason,
		hint: `Open the link that "clew serve" has printed, or get another one with "clew serve --link".`,
	}
}

// exchange returns the token for a code, which is then no longer valid. A valid one is always
// accepted: others can't lock the user out by guessing.
func (a *access) exchange(text string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.codes = slices.DeleteFunc(a.codes, func(c code) bool { return !c.until.After(now) })
	for i := range a.codes {
		if a.codes[i].is(text) {
			a.codes = slices.Delete(a.codes, i, i+1)
			a.opening = time.Time{}
			return a.token, nil
		}
	}
	if err := a.badCodes.add(now); err != nil {
		return "", err
	}
	return "", signIn("the code of this link is not valid: it was used, or is older than two minutes")
}

// newCode returns a code. Too many replace the oldest ones.
func (a *access) newCode() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := newSecret(codeSize)
	a.codes = append(a.codes, code{sha256.Sum256([]byte(text)), time.Now().Add(CodeLifetime)})
	a.codes = a.codes[max(0, len(a.codes)-maxCodes):]
	return text
}

// isOpening reports whether a page on this machine may lead to the server.
func (a *access) isOpening() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.opening)
}

// end returns a channel that is closed when the current token becomes invalid.
func (a *access) end() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revoked
}

// failures holds the times of recent failed logins.
type failures struct {
	times  []time.Time
	paused time.Time // until then nothing is tried
}

// add notes a failure, and refuses if there were too many.
func (f *failures) add(now time.Time) error {
	if err := f.wait(now); err != nil {
		return err
	}
	f.times = slices.DeleteFunc(f.times, func(t time.Time) bool { return now.Sub(t) >= failureSpan })
	f.times = append(f.times, now)
	if len(f.times) >= maxFailures {
		f.times, f.paused = nil, now.Add(failureSpan)
	}
	return nil
}

// wait refuses during a pause.
func (f *failures) wait(now time.Time) error {
	rest := f.paused.Sub(now)
	if rest <= 0 {
		return nil
	}
	seconds := int(math.Ceil(rest.Seconds()))
	return &refusal{
		status: http.StatusTooManyRequests, reason: fmt.Sprintf("%d attempts have failed", maxFailures),
		hint: fmt.Sprintf("Try again in %d seconds.", seconds), retryAfter: strconv.Itoa(seconds),
	}
}

// Token returns the token that requests need.
func (s *Server) Token() string {
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	return s.access.token
}

// NewCode returns a code that a page can exchange for the token: once, and for [CodeLifetime].
func (s *Server) NewCode() string { return s.access.newCode() }

// NewOpening returns a code, like NewCode. Until it is used, a page that is a file of this machine
// may lead to /open, which passes it on: a code on the command line of a browser would be public.
func (s *Server) NewOpening() string {
	text := s.access.newCode()
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	s.access.opening = time.Now().Add(CodeLifetime)
	return text
}

// rotate replaces the token, and ends the streams of the old one. Connections that sent the old
// token count as strangers.
func (s *Server) rotate() string {
	s.access.mu.Lock()
	s.access.renew()
	token := s.access.token
	s.access.mu.Unlock()
	s.connections.forget()
	if s.opts.Rotated != nil {
		s.opts.Rotated(token)
	}
	return token
}

// login exchanges the code of the printed URL for the token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Code string `json:"code"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	token, err := s.access.exchange(body.Code)
	if err != nil {
		return err
	}
	return reply(w, struct {
		Token string `json:"token"`
	}{token})
}

// A link holds the data with which another program opens a page.
type link struct {
	Token string `json:"token,omitempty"`
	Code  string `json:"code"`
}

// newLink answers with a code.
func (s *Server) newLink(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, link{Code: s.NewCode()})
}

// rotateToken replaces the token, and answers with the new one and a code.
func (s *Server) rotateToken(w http.ResponseWriter, _ *http.Request) error {
	token := s.rotate()
	return reply(w, link{Token: token, Code: s.NewCode()})
}
