package sessions

import (
	"fmt"
	"testing"

	"github.com/clewdev/clew/wire"
)

// TestSummaryOfForks checks which session a fork comes from, and that its last prompt was written in
// the fork and not in the session that it was made of.
func TestSummaryOfForks(t *testing.T) {
	t.Parallel()
	const (
		origin = "11111111-1111-4111-8111-111111111111"
		middle = "22222222-2222-4222-8222-222222222222"
		own    = "33333333-3333-4333-8333-333333333333"
	)
	said := func(text, minute, more string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u%s","timestamp":"2026-11-15T00:%s:00.000Z","sessionId":%q%s,`+
			`"message":{"role":"user","content":%q}}`, minute, minute, own, more, text)
	}
	answer := func(minute, more string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"a%s","timestamp":"2026-11-15T00:%s:01.000Z","sessionId":%q%s,`+
			`"message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"Yes."}]}}`, minute, minute, own, more, minute)
	}
	start := fmt.Sprintf(`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-15T00:30:00.000Z","sessionId":%q}`, own)
	last := fmt.Sprintf(`{"type":"last-prompt","lastPrompt":"old","sessionId":%q}`, own)
	request := func(id string) string { return fmt.Sprintf(`,"requestSessionId":%q`, id) }
	forked := func(id string) string { return fmt.Sprintf(`,"forkedFrom":{"sessionId":%q,"messageUuid":"x"}`, id) }
	tests := []struct {
		name         string
		entries      []string
		from, prompt string
	}{
		{"by the agent", []string{start, said("old", "10", ""), answer("10", request(origin)), last, said("new", "31", ""), last}, origin, "new"},
		{
			"by the agent, of a fork",
			[]string{start, answer("05", request(origin)), answer("10", request(middle)), said("new", "31", ""), answer("31", ""), last},
			middle, "new",
		},
		{"without a prompt of its own", []string{start, said("old", "10", ""), answer("10", request(origin)), last}, origin, "old"},
		{
			"by a program", []string{said("old", "10", forked(origin)), answer("10", forked(origin)), last, said("new", "31", ""), last},
			origin, "new",
		},
		{
			"by the agent, of a program's", []string{start, answer("10", request(origin)+forked(middle)), said("new", "31", "")}, middle, "new",
		},
		{"no fork", []string{start, said("new", "31", ""), answer("31", request(own)), last}, "", "old"},
		{"no session", []string{start, answer("31", request("../x")), said("new", "31", ""), last}, "", "old"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s Summary
			for _, entry := range tt.entries {
				s.Add(wire.JSON(entry))
			}
			if s.ForkedFrom != tt.from || s.LastPrompt != tt.prompt {
				t.Errorf("from %q, last prompt %q, want %q and %q", s.ForkedFrom, s.LastPrompt, tt.from, tt.prompt)
			}
		})
	}
}
