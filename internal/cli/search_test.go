package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/index"
	"github.com/clewdev/clew/sessions"
)

// An interrupted search says so, with the index and without.
func TestSearchInterrupted(t *testing.T) {
	hostileHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"search", "owned"}, {"search", "owned", "--no-index"}, {"search", "--regex", "owned"}} {
		var out, errs bytes.Buffer
		code := execute(ctx, args, Streams{Out: &out, Err: &errs})
		if code != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

// Matches keep their places in an excerpt with bytes that are not UTF-8.
func TestSearchRecordOfBadBytes(t *testing.T) {
	t.Parallel()
	h := &index.Hit{
		File: new(sessions.File), Text: "\xff\xfe\xfd\ufffd match", Matches: []index.Span{{Start: 7, End: 12}},
	}
	r := newSearchRecord(h)
	if at := r.Matches[0]; r.Excerpt != "???\ufffd match" || r.Excerpt[at.Start:at.End] != "match" {
		t.Errorf("excerpt %q, match %v", r.Excerpt, at)
	}
}

func TestSearchExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 50)
	for _, c := range []struct {
		text, match string
		columns     int
		want        string
	}{
		{"a match here", "match", 40, "a [match] here"},
		{"a\n\n  match\there", "match", 40, "a [match] here"},
		{long + "match " + long, "match", 24, "…d word word [match] word…"},
		{"match" + strings.Repeat("é", 60), "match", 16, "[match]éééééééééé…"},
		{"\x1b]0;x\a match\u202e", "match", 60, `\x1b]0;x\a [match]\u202e`},
		{"你好 match 你好你好你好你好", "match", 16, "你好 [match] 你好…"},
		{strings.Repeat("m", 90), strings.Repeat("m", 90), 12, "[mmmmmmmmmmm]…"},
	} {
		start := strings.Index(c.text, c.match)
		h := &index.Hit{Text: c.text, Matches: []index.Span{{Start: start, End: start + len(c.match)}}}
		got := strings.NewReplacer(markOn, "[", markOff, "]").Replace(excerptOf(h, c.columns, true))
		if got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
