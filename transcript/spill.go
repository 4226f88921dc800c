package transcript

import (
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

// SpillPath returns the path of the file that holds the whole output of a call whose result was too long for the
// conversation. It returns false if there is none. Nothing is known of the path but that the transcript names it: who
// reads it must check that it lies in the session's own folder.
func SpillPath(item *DisplayItem) (string, bool) {
	if item.SpillPath != "" {
		return item.SpillPath, true
	}
	value := jsonlex.Lookup([]byte(item.Structured), 0, "persistedOutputPath")
	if path, ok := jsonlex.Unquote(value); ok && len(path) > 0 {
		return string(path), true
	}
	return spilledText(item.ToolResult)
}

// spilledText returns the path in a text that stands for an output.
func spilledText(text string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<persisted-output>")
	if !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, "saved to: ")
	if !ok {
		return "", false
	}
	line, _, _ := strings.Cut(rest, "\n")
	line, _, _ = strings.Cut(line, "</persisted-output>")
	path := strings.TrimSpace(line)
	return path, path != ""
}
