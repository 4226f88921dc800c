package transcript

import (
	"regexp"
	"strings"
)

// spelling takes the name of a model out of what others make of it:
//
//	claude-sonnet-4-5-20250929, claude-3-7-sonnet-latest
//	us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic.claude-opus-5, arn:aws:…/us.anthropic.claude-opus-4-6-v1
//	claude-sonnet-4-5@20250929, claude-3-5-sonnet-v2@20241022
//	anthropic/claude-opus-4.6
var spelling = regexp.MustCompile(`^(?:.*/)?(?:(?:[a-z0-9-]+\.)?anthropic\.)?` +
	`(claude-[a-z0-9.-]+?)` +
	`(?:-latest|-[0-9]{8})?(?:-v[0-9]+(?::[0-9]+)?)?(?:@(?:[0-9]{8}|default|latest))?$`)

// plainName returns the name of a model without date, provider and marks, or "" if it is not spelled like one.
func plainName(model string) string {
	m := spelling.FindStringSubmatch(strings.ToLower(withoutMark(model)))
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(m[1], ".", "-")
}

// withoutMark returns the name without the mark of a window of a million tokens. The agent puts it behind the name that
// it was given; the API does not know it.
func withoutMark(model string) string {
	const mark = "[1m]"
	if n := len(model) - len(mark); n >= 0 && strings.EqualFold(model[n:], mark) {
		return model[:n]
	}
	return model
}
