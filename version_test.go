package clew_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/clewdev/clew"
)

// An agent that is too old is used all the same, with a warning. It tells its version when it is greeted, or in its
// first turn.
func TestOldAgentIsWarnedOf(t *testing.T) {
	t.Parallel()
	for version, warned := range map[string]bool{
		"1.0.0":               true,
		"1.99.99":             true,
		"2.0.0-beta":          false,
		clew.MinAgentVersion:  false,
		"2.1.325":             false,
		"10.0.0":              false,
		"two":                 false,
		"2.0":                 false,
		"1.99999999999999999": false,
		"":                    false,
	} {
		hello := fmt.Sprintf(`"subtype":"success","response":{"claude_code_version":%q}`, version)
		init := fmt.Sprintf(`{"type":"system","subtype":"init","claude_code_version":%q}`, version)
		t.Run("greeted by "+version, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var log strings.Builder
				s, _ := simulate(t, answering(hello), &clew.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				wantClosed(t, s)
				wantOldAgent(t, log.String(), version, warned)
			})
		})
		t.Run("a turn of "+version, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var log strings.Builder
				s, _ := simulate(t, asked().Send(init, aResult),
					&clew.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				wantTurn(t, s, "Hi", "*wire.InitMessage", "result: Hello")
				wantClosed(t, s)
				wantOldAgent(t, log.String(), version, warned)
			})
		})
	}
}

// wantOldAgent checks whether a log warns of an old agent, once.
func wantOldAgent(t *testing.T, log, version string, warned bool) {
	t.Helper()
	want := 0
	if warned {
		want = 1
	}
	warning := fmt.Sprintf("version=%s minimum=%s", version, clew.MinAgentVersion)
	if got := strings.Count(log, "level=WARN"); got != want || warned && !strings.Contains(log, warning) {
		t.Errorf("%d warnings, want %d: %s", got, want, log)
	}
}
