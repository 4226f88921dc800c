package clewtest

import (
	"net/http"
	"strconv"
	"time"
)

// statusOverloaded is what the API answers when it has more to do than it can.
const statusOverloaded = 529

// An apiFault is a kind of error of the API: its type and its usual text.
type apiFault struct{ kind, message string }

var apiFaults = map[int]apiFault{
	http.StatusBadRequest:            {"invalid_request_error", "Invalid request"},
	http.StatusUnauthorized:          {"authentication_error", "invalid x-api-key"},
	http.StatusForbidden:             {"permission_error", "Permission denied"},
	http.StatusNotFound:              {"not_found_error", "Not found"},
	http.StatusRequestEntityTooLarge: {"request_too_large", "Request exceeds the maximum size"},
	http.StatusTooManyRequests:       {"rate_limit_error", "This request would exceed your rate limit"},
	http.StatusInternalServerError:   {"api_error", "Internal server error"},
	http.StatusGatewayTimeout:        {"timeout_error", "Request timed out"},
	statusOverloaded:                 {"overloaded_error", "Overloaded"},
}

// writeFailure answers with the error of a rule.
func (a *answer) writeFailure(w http.ResponseWriter) {
	after := a.retryAfter
	if after <= 0 && a.status == http.StatusTooManyRequests {
		after = time.Second
	}
	if after > 0 {
		seconds := (after + time.Second - 1) / time.Second
		w.Header().Set("retry-after", strconv.Itoa(int(seconds)))
	}
	writeError(w, a.status, a.message)
}

// errorBody is the JSON of an error.
type errorBody struct {
	Type      string      `json:"type"`
	Error     errorDetail `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// writeError answers with an error of the API. An empty message means the usual one of the status.
func writeError(w http.ResponseWriter, status int, message string) {
	fault, ok := apiFaults[status]
	switch {
	case ok:
	case status >= 400 && status < 500:
		fault = apiFaults[http.StatusBadRequest]
	default:
		fault = apiFaults[http.StatusInternalServerError]
	}
	if message != "" {
		fault.message = message
	}
	writeJSON(w, status, errorBody{
		Type:      "error",
		Error:     errorDetail{Type: fault.kind, Message: fault.message},
		RequestID: w.Header().Get("request-id"),
	})
}
