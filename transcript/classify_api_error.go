package transcript

import (
	"fmt"
	"strings"
	"time"
)

// apiError says in a sentence what went wrong with a call of the API, as in
// "API error 529: Overloaded (retry 1 of 10 in 515ms)".
func apiError(entry []byte) string {
	text := "API error"
	if status := intAt(entry, "error", "status"); status != 0 {
		text = fmt.Sprintf("%s %d", text, status)
	}
	text = sentence(text, strings.TrimPrefix(apiErrorReason(entry), fmt.Sprint(intAt(entry, "error", "status"), " ")))
	attempt := intAt(entry, "retryAttempt")
	if attempt == 0 {
		return text
	}
	retry := fmt.Sprintf("retry %d", attempt)
	if most := intAt(entry, "maxRetries"); most != 0 {
		retry = fmt.Sprintf("%s of %d", retry, most)
	}
	if wait := intAt(entry, "retryInMs"); wait != 0 {
		retry = fmt.Sprintf("%s in %v", retry, time.Duration(wait)*time.Millisecond)
	}
	return text + " (" + retry + ")"
}

// apiErrorReason returns the message that is nearest to what the API said.
func apiErrorReason(entry []byte) string {
	for _, path := range [][]string{
		{"error", "error", "error", "message"},
		{"error", "error", "message"},
		{"error", "formatted"},
		{"error", "message"},
		{"error"},
		{"cause", "message"},
		{"cause", "code"},
		{"cause"},
		{"error", "error", "error", "type"},
		{"error", "error", "type"},
		{"error", "cause", "code"},
		{"error", "type"},
	} {
		if text := textAt(entry, path...); text != "" {
			return text
		}
	}
	return ""
}
