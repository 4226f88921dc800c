package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// statusOf returns the status of a refusal, or 200.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if no, ok := errors.AsType[*refusal](err); ok {
		return no.status
	}
	return http.StatusInternalServerError
}

// A code works once, and for two minutes.
func TestCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccess()
		code := a.newCode()
		if token, err := a.exchange(code); err != nil || token != a.token {
			t.Errorf("a new code: %q, %v", token, err)
		}
		if _, err := a.exchange(code); statusOf(err) != http.StatusUnauthorized {
			t.Errorf("a used code: %v", err)
		}
		code = a.newCode()
		time.Sleep(CodeLifetime - time.Second)
		other := a.newCode()
		time.Sleep(time.Second)
		if _, err := a.exchange(code); statusOf(err) != http.StatusUnauthorized {
			t.Errorf("a code of two minutes ago: %v", err)
		}
		if _, err := a.exchange(other); err != nil {
			t.Errorf("a code of a second ago: %v", err)
		}
		for _, code := range []string{"", "x", a.token} {
			if _, err := a.exchange(code); statusOf(err) != http.StatusUnauthorized {
				t.Errorf("the code %q: %v", code, err)
			}
		}
	})
}

// Only a limited number of codes is valid, the newest ones.
func TestCodesAreBounded(t *testing.T) {
	t.Parallel()
	a := newAccess()
	first := a.newCode()
	for range maxCodes {
		a.newCode()
	}
	if _, err := a.exchange(first); statusOf(err) != http.StatusUnauthorized || len(a.codes) != maxCodes {
		t.Errorf("%d codes, the first: %v", len(a.codes), err)
	}
}

// After ten failures, others have to wait for a minute. The token and codes keep working, so that
// nobody can lock the user out.
func TestFailuresPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccess()
		request := func(token string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			return a.check(r)
		}
		for range maxFailures {
			if _, err := a.exchange("x"); statusOf(err) != http.StatusUnauthorized {
				t.Fatal(err)
			}
			if err := request("x"); statusOf(err) != http.StatusUnauthorized {
				t.Fatal(err)
			}
		}
		if _, err := a.exchange("x"); statusOf(err) != http.StatusTooManyRequests {
			t.Errorf("a wrong code in the pause: %v", err)
		}
		if _, err := a.exchange(a.newCode()); err != nil {
			t.Errorf("a code in the pause: %v", err)
		}
		if err := request("x"); statusOf(err) != http.StatusTooManyRequests {
			t.Errorf("a wrong token in the pause: %v", err)
		}
		if err := request(a.token); err != nil {
			t.Errorf("the token in the pause: %v", err)
		}
		time.Sleep(failureSpan)
		if _, err := a.exchange("x"); statusOf(err) != http.StatusUnauthorized {
			t.Errorf("a wrong code after the pause: %v", err)
		}
		for range 3 * maxFailures { // slower than the limit
			time.Sleep(failureSpan / (maxFailures - 2))
			if err := request("x"); statusOf(err) != http.StatusUnauthorized {
				t.Fatal(err)
			}
		}
	})
}

// A new token ends the old one, and the codes.
func TestRotate(t *testing.T) {
	t.Parallel()
	var told string
	s := newServer(t)
	s.opts.Rotated = func(token string) { told = token }
	old, code, end := s.Token(), s.NewCode(), s.access.end()
	token := s.rotate()
	if token == old || told != token || s.Token() != token || len(token) < 43 {
		t.Errorf("%q after %q, told %q", token, old, told)
	}
	if _, err := s.access.exchange(code); statusOf(err) != http.StatusUnauthorized {
		t.Errorf("an old code: %v", err)
	}
	<-end
}

// Only while --open opens a page may a page of another site lead to /open, and never elsewhere.
func TestOpening(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	navigate := func(target, mode, dest string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	if got := navigate("/open", "navigate", "document"); got != http.StatusForbidden {
		t.Errorf("before: %d", got)
	}
	code := s.NewOpening()
	if got := navigate("/open", "navigate", "document"); got != http.StatusOK {
		t.Errorf("/open: %d", got)
	}
	for _, other := range [][3]string{
		{"/", "navigate", "document"}, {"/open", "navigate", "iframe"}, {"/open", "no-cors", "script"}, {"/open", "cors", "empty"},
		{api + "me", "navigate", "document"},
	} {
		if got := navigate(other[0], other[1], other[2]); got != http.StatusForbidden {
			t.Errorf("%v: %d", other, got)
		}
	}
	if _, err := s.access.exchange(code); err != nil {
		t.Fatal(err)
	}
	if got := navigate("/open", "navigate", "document"); got != http.StatusForbidden {
		t.Errorf("after: %d", got)
	}
}
