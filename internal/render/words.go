package render

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

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

// Duration returns a duration for people, in one or two units: 0.4 s, 48 s, 12 min, 3 h 5 min, 2 d 4 h.
func Duration(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", max(d, 0).Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case minutes < 60:
		return fmt.Sprintf("%d min", max(minutes, 1))
	case minutes < 24*60:
		return units(minutes/60, "h", minutes%60, "min")
	}
	hours := (minutes + 30) / 60
	return units(hours/24, "d", hours%24, "h")
}

func units(large int, largeUnit string, small int, smallUnit string) string {
	text := fmt.Sprintf("%d %s", large, largeUnit)
	if small > 0 {
		text += fmt.Sprintf(" %d %s", small, smallUnit)
	}
	return text
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
