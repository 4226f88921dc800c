package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/usage"
)

// statsOf runs clew stats --json over all projects.
func statsOf(t *testing.T, args ...string) *usage.Report {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"stats", "--json", "--timezone", "UTC"}, args...)
	code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != clikit.ExitDone || errs.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var r usage.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func corpusTokens(u usage.Sum) corpus.Tokens {
	return corpus.Tokens{
		Input: u.InputTokens, Output: u.OutputTokens, CacheWrite: u.CacheCreationTokens, CacheRead: u.CacheReadTokens,
	}
}

func TestStatsIsExact(t *testing.T) {
	root := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", root)
	truth, err := corpus.Projects(filepath.Join(root, "projects"), 7, 2<<20)
	if err != nil {
		t.Fatal(err)
	}
	bySession := map[string]corpus.Tokens{}
	for id, s := range truth.Sessions {
		if s.Tokens != (corpus.Tokens{}) {
			bySession[id] = s.Tokens
		}
	}
	models, months := map[string]corpus.Tokens{}, map[string]corpus.Tokens{}
	for name, tokens := range truth.ByModel {
		name = usage.DefaultPrices().Name(name)
		models[name] = models[name].Plus(tokens)
	}
	for day, tokens := range truth.ByDay {
		months[day[:7]] = months[day[:7]].Plus(tokens)
	}
	for _, tt := range []struct {
		by   string
		want map[string]corpus.Tokens
		key  func(usage.Key) string
	}{
		{"day", truth.ByDay, func(k usage.Key) string { return k.Day }},
		{"month", months, func(k usage.Key) string { return k.Month }},
		{"model", models, func(k usage.Key) string { return k.Model }},
		{"session", bySession, func(k usage.Key) string { return k.Session }},
		{"block,day", truth.ByDay, func(k usage.Key) string { return k.Day }},
	} {
		r := statsOf(t, "--by", tt.by)
		got := map[string]corpus.Tokens{}
		var cost usage.Money
		for _, row := range r.Rows {
			got[tt.key(row.Key)] = got[tt.key(row.Key)].Plus(corpusTokens(row.Usage))
			cost += row.Cost
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", tt.by, diff)
		}
		if r.Total.Calls != truth.Answers || corpusTokens(r.Total.Usage) != truth.Tokens || r.Total.Cost != cost || cost == 0 {
			t.Errorf("by %s: total %+v, rows cost %v; want %d answers, %+v", tt.by, r.Total, cost, truth.Answers, truth.Tokens)
		}
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	paris, err := clikit.ParseZone("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 26, 9, 30, 0, 0, paris) // the day after the clocks were set back
	for _, tt := range []struct{ text, since, until string }{
		{"2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"today", "2026-10-26T00:00:00+01:00", "2026-10-27T00:00:00+01:00"},
		{"yesterday", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"2d", "2026-10-24T09:30:00+02:00", "2026-10-24T09:30:00+02:00"},
		{"1w", "2026-10-19T09:30:00+02:00", "2026-10-19T09:30:00+02:00"},
		{"30m", "2026-10-26T09:00:00+01:00", "2026-10-26T09:00:00+01:00"},
		{"48h", "2026-10-24T10:30:00+02:00", "2026-10-24T10:30:00+02:00"},
		{"2026-10-20T14:00", "2026-10-20T14:00:00+02:00", "2026-10-20T14:00:00+02:00"},
		{"2026-10-20T14:00:00Z", "2026-10-20T14:00:00Z", "2026-10-20T14:00:00Z"},
	} {
		since, err := clikit.ParseTime("since", tt.text, now, false)
		if got := since.Format(time.RFC3339); got != tt.since || err != nil {
			t.Errorf("since %s is %s, want %s, error %v", tt.text, got, tt.since, err)
		}
		until, err := clikit.ParseTime("until", tt.text, now, true)
		if got := until.Format(time.RFC3339); got != tt.until || err != nil {
			t.Errorf("until %s is %s, want %s, error %v", tt.text, got, tt.until, err)
		}
	}
	for _, bad := range []string{"soon", "7", "d", "-7d", "2026-13-01", "123456d", "\x1b[2J"} {
		if at, err := clikit.ParseTime("since", bad, now, false); err == nil {
			t.Errorf("%q is %v", bad, at)
		}
	}
}

// On a narrow screen no line is wider than that.
func TestStatsNarrow(t *testing.T) {
	root := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", root)
	if _, err := corpus.Projects(filepath.Join(root, "projects"), 7, 1<<20); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLUMNS", "40")
	for _, args := range []string{"", "--plot", "--by project", "--by session", "--by session,model --plot", "--by project,day"} {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), append([]string{"stats"}, strings.Fields(args)...), Streams{Out: &out, Err: &errs}); code != 0 {
			t.Errorf("%s: exit code %d: %s", args, code, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := tty.Width(strings.TrimRight(line, "\n")); n > 40 {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
		if plot := strings.Contains(args, "--plot"); plot != strings.Contains(out.String(), "███") {
			t.Errorf("%s:\n%s", args, out.String())
		}
	}
}

func TestStatsInterrupted(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, []string{"stats"}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != clikit.ExitInterrupted || out.Len() > 0 || errs.String() != "clew stats: interrupted\n" {
		t.Errorf("exit code %d, output %q, errors %q", code, out.String(), errs.String())
	}
}

// A name that a spreadsheet would run as a formula gets an apostrophe. Other names don't, nor do
// numbers.
func TestCSVFormulas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"=1+1", "+1", "-2+3+cmd|' /C calc'!A0", "-", "@SUM(1)", "\t=1", "\tx", "\r=1", "\rx", " =1", "\u00a0-1", "\u200b=1",
		"\ufeff+1", "\"=1", "'=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", "\u22121", "\n=1",
	} {
		if got := csvNames([]string{name})[0]; got != "'"+clikit.Printable(name) {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	for _, name := range []string{"", "a", "claude-opus-5-5", "2026-11-01", "a=1", "/-x", "1-2", " x"} {
		if got := csvNames([]string{name})[0]; got != clikit.Printable(name) {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	for i, figure := range csvFigures(&usage.Totals{Calls: -1, Cost: -1}) {
		if strings.HasPrefix(figure, "'") {
			t.Errorf("figure %d is %q", i, figure)
		}
	}
}
