package statusline

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/settings"
)

// A View is everything that a line can show.
type View struct {
	Input  settings.StatusLineInput
	Facts  *Facts // nil if they are not known yet
	Branch string // see [Branch]
	Now    time.Time
	// Problem explains in a few words why there is no Input, or is "".
	Problem string
}

// Dir returns the working directory, or "" if it is not known.
func (v *View) Dir() string { return cmp.Or(v.Input.Workspace.CurrentDir, v.Input.CWD) }

// A value is a part of a line that has a name.
type value struct {
	about      string
	importance int // values with less are left out first
	text       func(v *View) []part
}

// A part is a text of one style. It is clean.
type part struct {
	text  string
	style tty.Style
}

// names are the names of the values in the order in which the help lists them.
var names = []string{
	"model", "effort", "context", "5h", "7d", "spend", "session", "today", "project", "block", "branch", "cache",
	"dir", "name", "lines", "time", "pr", "agent", "vim", "version",
}

// values are all values by name.
var values = map[string]value{
	"model":   {"the model", 90, func(v *View) []part { return words(tty.Title, v.Input.Model.DisplayName, v.Input.Model.ID) }},
	"effort":  {"how much the model thinks", 30, effort},
	"context": {"how full the context is", 80, contextUsed},
	"5h": {"the five-hour limit, and the time to reset", 75, func(v *View) []part {
		return v.limit("5h", func(l *settings.StatusRateLimits) *settings.StatusLimit { return l.FiveHour })
	}},
	"7d": {"the same for the seven-day limit", 65, func(v *View) []part {
		return v.limit("7d", func(l *settings.StatusRateLimits) *settings.StatusLimit { return l.SevenDay })
	}},
	"spend": {"the same for the spend limit of a gateway", 70, func(v *View) []part {
		return v.limit("spend", func(l *settings.StatusRateLimits) *settings.StatusLimit { return l.SpendLimit })
	}},
	"session": {"the cost of this session", 60, sessionCost},
	"today":   {"the cost of all sessions today", 55, func(v *View) []part { return v.Facts.today(v.Now).parts("today") }},
	"project": {"the cost of this project today", 45, projectCost},
	"block":   {"the cost of this block of five hours", 25, func(v *View) []part { return v.Facts.block(v.Now).parts("block") }},
	"branch":  {"the branch of git, or its commit", 40, func(v *View) []part { return words(tty.Path, v.Branch) }},
	"cache":   {"how much was read from the prompt cache, or that it is cold", 20, cache},
	"dir":     {"the name of the working directory", 50, dir},
	"name":    {"the name of the session", 50, func(v *View) []part { return words(tty.Plain, v.Input.SessionName) }},
	"lines":   {"lines added and removed", 35, lines},
	"time":    {"session duration", 35, sessionTime},
	"pr":      {"the pull request of the branch", 40, pullRequest},
	"agent":   {"the agent that the session was started as", 50, agentName},
	"vim":     {"the mode of the editor of prompts", 50, vim},
	"version": {"the version of Claude Code", 10, func(v *View) []part { return words(tty.Dim, v.Input.Version) }},
}

// Names returns the names of all values.
func Names() []string { return slices.Clone(names) }

// Describe lists the values with their meanings, a line each.
func Describe() string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "  %-11s%s\n", "{"+name+"}", values[name].about)
	}
	return b.String()
}

// maxText is the maximum width of a text from outside.
const maxText = 40

// words returns the first text that is not empty, clean and cut.
func words(style tty.Style, texts ...string) []part {
	for _, text := range texts {
		const most = 4096 // more than fits
		if text = tty.Line(clip.Bytes(text, most)); text != "" {
			return []part{{tty.Fit(text, maxText), style}}
		}
	}
	return nil
}

func effort(v *View) []part {
	if v.Input.Effort == nil {
		return nil
	}
	return words(tty.Plain, string(v.Input.Effort.Level))
}

func contextUsed(v *View) []part {
	if v.Input.ContextWindow == nil {
		return nil
	}
	text, style := percent(v.Input.ContextWindow.UsedPercentage)
	if text == "" {
		return nil
	}
	return []part{{text, style}, {" context", tty.Dim}}
}

// percent returns a percentage, and the style that shows whether it is high. It returns "" if there
// is none.
func percent(p *float64) (string, tty.Style) {
	switch {
	case p == nil || *p < 0:
		return "", tty.Plain
	case *p >= 1000:
		return ">999 %", tty.Failure
	case *p >= 90:
		return wording.Percent(*p), tty.Failure
	case *p >= 75:
		return wording.Percent(*p), tty.Waiting
	}
	return wording.Percent(*p), tty.Success
}

// limit returns a limit, unless it was reset since the agent reported it.
func (v *View) limit(label string, of func(*settings.StatusRateLimits) *settings.StatusLimit) []part {
	if v.Input.RateLimits == nil || of(v.Input.RateLimits) == nil {
		return nil
	}
	l := of(v.Input.RateLimits)
	text, style := percent(l.UsedPercentage)
	reset := l.Reset()
	if text == "" || !reset.IsZero() && !reset.After(v.Now) {
		return nil
	}
	parts := []part{{label + " ", tty.Dim}, {text, style}}
	if !reset.IsZero() {
		parts = append(parts, part{" " + span(reset.Sub(v.Now)), tty.Dim})
	}
	return parts
}

// span returns a duration, rounded up to minutes, so that nothing resets later than shown.
func span(d time.Duration) string {
	const most = 1000 * 24 * time.Hour // longer durations look the same
	return wording.ShortDuration((min(d, most) + time.Minute - 1).Truncate(time.Minute))
}

func sessionCost(v *View) []part {
	const most = 9e6 // dollars; more can't be true
	cost := v.Input.Cost
	if cost == nil || cost.TotalCostUSD == nil || *cost.TotalCostUSD < 0 || *cost.TotalCostUSD > most {
		return nil
	}
	return []part{{wording.Dollars(*cost.TotalCostUSD).Cents(), tty.Cost}}
}

// parts returns an amount with a label, or nothing for nil.
func (a *Amount) parts(label string) []part {
	if a == nil {
		return nil
	}
	return []part{{wording.Cost{Amount: a.Cost, Partial: a.Unknown}.Cents(), tty.Cost}, {" " + label, tty.Dim}}
}

func projectCost(v *View) []part {
	label := "in project"
	if name := dir(v); name != nil {
		label = "in " + name[0].text
	}
	return v.Facts.project(v.Now, v.Input.TranscriptPath).parts(label)
}

func cache(v *View) []part {
	c := v.Input.PromptCache
	switch {
	case c == nil || !c.CachingObserved:
		return nil
	case !c.Warm || c.ExpiresAt != nil && *c.ExpiresAt <= v.Now.Unix():
		return []part{{"cache ", tty.Dim}, {"cold", tty.Waiting}}
	case c.HitRatio == nil || *c.HitRatio < 0 || *c.HitRatio > 1:
		return nil
	}
	return []part{{"cache ", tty.Dim}, {wording.Percent(100 * *c.HitRatio), tty.Plain}}
}

func dir(v *View) []part {
	if v.Dir() == "" {
		return nil
	}
	return words(tty.Path, filepath.Base(v.Dir()))
}

func lines(v *View) []part {
	cost := v.Input.Cost
	if cost == nil || cost.TotalLinesAdded < 0 || cost.TotalLinesRemoved < 0 ||
		cost.TotalLinesAdded == 0 && cost.TotalLinesRemoved == 0 {
		return nil
	}
	return []part{
		{"+" + wording.Rounded(cost.TotalLinesAdded), tty.Addition}, {" ", tty.Plain},
		{"-" + wording.Rounded(cost.TotalLinesRemoved), tty.Removal},
	}
}

func sessionTime(v *View) []part {
	if v.Input.Cost == nil || v.Input.Cost.TotalDurationMS <= 0 {
		return nil
	}
	ms := min(v.Input.Cost.TotalDurationMS, math.MaxInt64/int64(time.Millisecond)-int64(time.Hour))
	return []part{{span(time.Duration(ms) * time.Millisecond), tty.Plain}}
}

func pullRequest(v *View) []part {
	pr := v.Input.PullRequest
	if pr == nil || pr.Number <= 0 {
		return nil
	}
	text := fmt.Sprintf("PR #%d", pr.Number)
	if pr.Kind == "mr" {
		text = fmt.Sprintf("MR !%d", pr.Number)
	}
	parts := []part{{text, tty.Plain}}
	if state := words(tty.Dim, strings.ReplaceAll(pr.ReviewState, "_", " ")); state != nil {
		parts = append(parts, part{" " + state[0].text, tty.Dim})
	}
	return parts
}

func agentName(v *View) []part {
	if v.Input.Agent == nil {
		return words(tty.Plain, v.Input.AgentType)
	}
	return words(tty.Plain, v.Input.Agent.Name, v.Input.AgentType)
}

func vim(v *View) []part {
	if v.Input.Vim == nil {
		return nil
	}
	return words(tty.Plain, v.Input.Vim.Mode)
}
