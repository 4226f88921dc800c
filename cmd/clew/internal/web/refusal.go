package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// A refusal is the answer to a request that is not fulfilled.
type refusal struct {
	status int
	reason string // the problem, as shown to the user
	hint   string // the remedy, or ""
	state  any    // the state that the client does not know yet, or nil

	allow      string // the header Allow, or ""
	retryAfter string // the header Retry-After, or ""
}

func (r *refusal) Error() string { return r.reason }

// refused returns a refusal without a hint.
func refused(status int, format string, args ...any) *refusal {
	return &refusal{status: status, reason: fmt.Sprintf(format, args...)}
}

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, err error) {
	no, ok := errors.AsType[*refusal](err)
	if !ok {
		no = refused(http.StatusInternalServerError, "%v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	no.setHeaders(w.Header())
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(struct { // the client is gone if this fails
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
		State any    `json:"state,omitempty"`
	}{no.reason, no.hint, no.state})
}

// setHeaders sets the headers that belong to the status.
func (r *refusal) setHeaders(h http.Header) {
	if r.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	if r.retryAfter != "" {
		h.Set("Retry-After", r.retryAfter)
	}
}

// reply answers a request with JSON.
func reply(w http.ResponseWriter, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone if this fails
	return nil
}

// decodeBody reads the JSON of a request: one value, with known members.
func decodeBody(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		return refused(http.StatusBadRequest, "the request is not valid: %v", err)
	}
	return nil
}
