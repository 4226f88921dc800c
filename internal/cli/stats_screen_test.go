package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// statsNow is the time at which the sample is looked at.
var statsNow = time.Date(2026, 11, 14, 17, 6, 0, 0, time.UTC)

// A sampleCall is an answer, so long before statsNow.
type sampleCall struct {
	ago                     time.Duration
	model, project, session string
	input, output, cached   int
}

// sampleUsage returns the scan of some answers, and of a limit that was reached.
func sampleUsage(more ...sampleCall) *sessions.UsageScan {
	used := &sessions.UsageScan{Limits: []sessions.ReachedLimit{
		{Time: statsNow.Add(-24 * time.Hour), Type: wire.RateLimitFiveHour, ResetsAt: statsNow.Add(-20 * time.Hour)},
		{Time: statsNow.Add(-time.Hour), Type: wire.RateLimitFiveHour, ResetsAt: statsNow.Add(54 * time.Minute)},
		{Time: statsNow.Add(-time.Hour), Type: wire.RateLimitSevenDay, ResetsAt: statsNow.Add(60 * time.Hour)},
	}}
	const opus, haiku = "claude-opus-5-5", "claude-haiku-5-5"
	for i, c := range append([]sampleCall{
		{32 * time.Hour, opus, "-work-uploader", "de1b4c1c", 901_234, 71_000, 24_112_000},
		{31 * time.Hour, haiku, "-work-uploader", "de1b4c1c", 300_000, 17_020, 7_040_000},
		{30 * time.Hour, opus, "-work-store", "95c1ed52", 0, 950, 120},
		{3 * time.Hour, opus, "-work-store", "9a6a0100", 400_000, 20_050, 9_000_000},
		{time.Hour, haiku, "-work-uploader", "b184751d", 12, 999, 45_000},
		{6 * time.Minute, opus, "-work-store", "9a6a0100", 2, 1_000, 1_200_000},
	}, more...) {
		used.Tally.Add(usage.Call{
			MessageID: fmt.Sprint("m", i), Model: c.model, Project: c.project, SessionID: c.session, Time: statsNow.Add(-c.ago),
			Usage: usage.Usage{InputTokens: c.input, OutputTokens: c.output, CacheReadTokens: c.cached, CacheCreationTokens: c.cached / 20},
		})
	}
	return used
}

// statsText returns a table of the sample.
func statsText(t *testing.T, used *sessions.UsageScan, by string, on canvas) string {
	t.Helper()
	var groups dimensions
	if err := groups.Set(by); err != nil {
		t.Fatal(err)
	}
	prices := usage.DefaultPrices()
	r := newStatsReport(used, &usage.ReportOptions{By: groups.list, Location: time.UTC, Prices: &prices}, statsNow)
	r.sort("")
	for i := range r.Rows {
		r.Rows[i].Title = "Fix the flaky upload test, which fails one run in ten"
	}
	on.cell = "█"
	return r.text(on)
}

var paintPattern = regexp.MustCompile("\x1b\\[([0-9;]+)m")

// checkScreens compares a screen with its golden file, at some widths, in color and without.
// CLEW_UPDATE=1 writes the file again: read it.
func checkScreens(t *testing.T, name string, screen func(canvas) string) {
	t.Helper()
	var b strings.Builder
	for _, width := range []int{40, 80, 200} {
		plain := screen(canvas{width: width})
		painted := screen(canvas{width: width, color: true})
		if got := paintPattern.ReplaceAllString(painted, ""); got != plain {
			t.Errorf("%d columns: in color the text is another one (-want +got):\n%s", width, cmp.Diff(plain, got))
		}
		fmt.Fprintf(&b, "== %d columns\n%s== %[1]d columns, in color\n%[3]s", width, plain, paintPattern.ReplaceAllString(painted, "<$1>"))
	}
	path := filepath.Join("testdata", "stats", name+".golden")
	if os.Getenv("CLEW_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(want), "\r\n", "\n")
	if diff := cmp.Diff(text, b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestStatsScreens(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]string{
		"daily": "day", "daily_models": "day,model", "projects": "project,day", "sessions": "session", "blocks": "block",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkScreens(t, name, func(on canvas) string { return statsText(t, sampleUsage(), by, on) })
		})
	}
}

// No line is wider than the terminal, whatever the names.
func TestStatsFitsEveryWidth(t *testing.T) {
	t.Parallel()
	used := sampleUsage(
		sampleCall{2 * time.Hour, "odd\x1b[31m\u202e" + strings.Repeat("m", 300), "=cmd\r\n\x1b]0;x\a", "\x1b[2J", 1 << 40, 1 << 50, 1 << 50},
		sampleCall{2 * time.Hour, "模型模型模型模型", "-项目-项目", "", 0, 0, 0},
		sampleCall{2 * time.Hour, "", "", "", -5, 7, 0},
	)
	for _, by := range []string{"day", "day,model", "model", "project,session,model,agent", "session", "block", "hour,project", "block,model"} {
		for width := 1; width <= 200; width++ {
			for line := range strings.Lines(statsText(t, used, by, canvas{width: width})) {
				line = strings.TrimSuffix(line, "\n")
				if n := tty.Width(line); n > max(width, 2) { // a wide character has two columns
					t.Fatalf("by %s at %d columns: %d columns: %q", by, width, n, line)
				}
				if strings.ContainsAny(line, "\x1b\r\a") {
					t.Fatalf("by %s: %q", by, line)
				}
			}
		}
	}
}

// The active block and recent ones are counted alone.
func TestStatsKeepsBlocks(t *testing.T) {
	t.Parallel()
	used := sampleUsage(sampleCall{200 * time.Hour, "claude-opus-5-5", "p", "s", 1, 1, 1})
	prices := usage.DefaultPrices()
	opts := &usage.ReportOptions{By: []usage.Dimension{usage.ByBlock}, Location: time.UTC, Prices: &prices}
	for _, tt := range []struct {
		active, recent      bool
		rows, blocks, calls int
	}{
		{false, false, 3, 5, 7},
		{false, true, 2, 3, 6},
		{true, false, 1, 1, 3},
	} {
		r := newStatsReport(used, opts, statsNow)
		r.keepBlocks(tt.active, tt.recent)
		if len(r.Rows) != tt.rows || len(r.Blocks) != tt.blocks || r.Total.Calls != tt.calls {
			t.Errorf("active %t, recent %t: %d rows, %d blocks, %d answers", tt.active, tt.recent, len(r.Rows), len(r.Blocks), r.Total.Calls)
		}
	}
}

// --watch draws over what it has drawn, within the screen, waits longer if reading takes long, and
// draws at once if the terminal gets another size.
func TestStatsWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	now := statsNow
	var waits []time.Duration
	texts := []string{"head\n1\n2\n3\n4\n", "head\n555555\n", "head\n6\n"}
	columns := 80
	resized := make(chan struct{}, 1)
	o := &statsOptions{now: func() time.Time { return now }}
	o.after = func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		switch len(waits) {
		case 1:
			c <- now
		case 2:
			columns = 4
			resized <- struct{}{}
		default:
			cancel()
		}
		return c
	}
	var out strings.Builder
	show := func() (string, error) {
		now = now.Add(time.Duration(len(waits)) * 500 * time.Millisecond)
		return texts[len(waits)], nil
	}
	err := o.watch(ctx, show, &statsScreen{w: &out, size: func() (int, int) { return columns, 5 }}, resized)
	const c = tty.ClearLine
	want := c + "head\n" + c + "2\n" + c + "3\n" + c + "4\n" +
		tty.Up(4) + c + "head\n" + c + "555555\n" + c + "\n" + c + "\n" + tty.Up(2) +
		tty.Up(3) + c + "head\n" + c + "5555\n" + c + "\n" + tty.Up(1) +
		tty.Up(2) + c + "head\n" + c + "6\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || exitCode(err) != exitInterrupted {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
