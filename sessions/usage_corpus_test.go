package sessions_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// tokensOf are the tokens of a call as the corpus counts them.
func tokensOf(c transcript.Call) corpus.Tokens {
	u := c.Usage
	return corpus.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheWrite: u.CacheCreationTokens,
		CacheRead: u.CacheReadTokens}
}

// sums adds up calls by some key.
func sums(calls []transcript.Call, key func(transcript.Call) string) map[string]corpus.Tokens {
	by := map[string]corpus.Tokens{}
	for _, c := range calls {
		by[key(c)] = by[key(c)].Plus(tokensOf(c))
	}
	return by
}

func TestUsageIsExactOnAnyCorpus(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for seed := range uint64(20) {
		root := t.TempDir()
		create := corpus.Projects
		if seed%2 == 1 {
			create = corpus.GatewayProjects
		}
		truth, err := create(filepath.Join(root, "projects"), seed+1, size)
		if err != nil {
			t.Fatal(err)
		}
		checkTruth(t, truth, usage(t, &sessions.UsageOptions{Roots: []string{root}}))
		if t.Failed() {
			t.Fatalf("seed %d", seed+1)
		}
	}
}

func checkTruth(t *testing.T, truth *corpus.Truth, got *sessions.UsageReport) {
	t.Helper()
	calls := got.Tally.Calls()
	bySession := map[string]corpus.Tokens{}
	for id, s := range truth.Sessions {
		if s.Tokens != (corpus.Tokens{}) {
			bySession[id] = s.Tokens
		}
	}
	for _, tt := range []struct {
		by   string
		want map[string]corpus.Tokens
		key  func(transcript.Call) string
	}{
		{"all", map[string]corpus.Tokens{"": truth.Tokens}, func(transcript.Call) string { return "" }},
		{"model", truth.ByModel, func(c transcript.Call) string { return c.Model }},
		{"day", truth.ByDay, func(c transcript.Call) string { return c.Time.Format("2006-01-02") }},
		{"session", bySession, func(c transcript.Call) string { return c.SessionID }},
	} {
		if diff := cmp.Diff(tt.want, sums(calls, tt.key)); diff != "" {
			t.Errorf("tokens by %s (-want +got)\n%s", tt.by, diff)
		}
	}
	if len(calls) != truth.Answers || got.Bytes > truth.Bytes || got.BadLines != 0 || got.Unread != nil {
		t.Errorf("%d answers of %d, %d bytes of %d, %d bad lines, unread %v", len(calls), truth.Answers, got.Bytes,
			truth.Bytes, got.BadLines, got.Unread)
	}
}
