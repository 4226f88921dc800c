package render

import (
	"regexp"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/tty"
)

// modelExtras match the parts of model names around the part that people use: the provider, and the
// release date.
var modelExtras = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z]+\.)*anthropic\.|^claude-|-\d{8}|-v\d+:\d+$|@\d{8}$`)
})

// ShortModel returns a clean name of a model as people write it: "opus-5-5" for
// "claude-opus-5-5-20261001".
func ShortModel(name string) string {
	name = tty.Line(name)
	for {
		short := modelExtras().ReplaceAllString(name, "")
		if short == "" || short == name {
			return name
		}
		name = short
	}
}

// Join joins the parts of a line that are not empty.
func Join(parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, part)
		}
	}
	return strings.Join(there, " · ")
}
