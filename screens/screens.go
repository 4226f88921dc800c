package screens

import (
	"context"

	"github.com/clewdev/clew/internal/rawjson"
)

// A Controller sends control requests to an agent. A [clew.Session] is one.
type Controller interface {
	// Control sends a request with the fields of in and decodes the answer into out.
	Control(ctx context.Context, subtype string, in, out any) error
}

// ask sends a control request and returns the answer. A field that does not fit its type is zero.
func ask[T any](ctx context.Context, c Controller, subtype string, in any) (*T, error) {
	answer := new(T)
	if err := c.Control(ctx, subtype, in, &rawjson.Loose{Value: answer}); err != nil {
		return nil, err
	}
	return answer, nil
}

// CostText returns the cost of the session so far as several lines for people. For numbers, see
// [AccountUsage] and the [clew.ResultMessage] of each turn.
func CostText(ctx context.Context, c Controller) (string, error) {
	answer, err := ask[costAnswer](ctx, c, "get_session_cost", nil)
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

type costAnswer struct {
	Text string `json:"text"`
}

// SuggestFiles returns the files and directories of the project whose path starts with query, the
// best match first, as the agent completes a path after "@".
func SuggestFiles(ctx context.Context, c Controller, query string) (*FileSuggestions, error) {
	return ask[FileSuggestions](ctx, c, "file_suggestions", filesRequest{query})
}

type filesRequest struct {
	Query string `json:"query"`
}

// FileSuggestions are paths that complete what a user has typed.
type FileSuggestions struct {
	// Suggestions are the paths, the best match first.
	Suggestions []FileSuggestion `json:"suggestions"`
	// CWD is the directory that relative paths start from, or empty if the agent does not report
	// it.
	CWD string `json:"cwd"`
}

// A FileSuggestion is one path.
type FileSuggestion struct {
	// Path ends with a separator if it is a directory.
	Path string `json:"path"`
	// Score is the quality of the match, or nil if the agent does not report it.
	Score *float64 `json:"score"`
}
