package render

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/usage"
)

// modelExtras are what the names of models have around the part that people use: who serves them,
// and the day of their release.
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

// Cents returns an amount in cents: $1,234.50, <$0.01.
func Cents(m usage.Money) string {
	const cent = usage.Dollar / 100
	if m > 0 && m < cent/2 {
		return "<$0.01"
	}
	cents := int64(m/cent) + int64(m%cent/(cent/2))
	return fmt.Sprintf("$%s.%02d", wording.Number(cents/100), cents%100)
}

// Money returns an amount for people, in cents from a cent on, and in hundredths of a cent below it:
// $1,234.50, $0.11, $0.0012.
func Money(m usage.Money) string {
	const cent = usage.Dollar / 100
	switch {
	case m > 0 && m < cent/200:
		return "<$0.0001"
	case m < cent:
		return m.String()
	}
	return Cents(m)
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
