package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	agentsettings "github.com/clewdev/clew/settings"
	"github.com/clewdev/clew/transcript"
)

// testedAgent is the version of Claude Code with which clew is tested.
const testedAgent = "2.1.326"

func checkBuild(context.Context) []diagnosis {
	b := readBuild()
	return []diagnosis{{
		State: stateOK, Found: fmt.Sprintf("%s, revision %s, %s %s", b.Version, b.revision(), b.Go, b.Platform), Details: b,
	}}
}

type agentDetails struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Tested  string `json:"tested"`
}

// checkAgent looks for the agent binary, and asks it for its version.
func checkAgent(ctx context.Context, setting config.Value) []diagnosis {
	name, from := "", ""
	if setting.Setting != nil {
		from = " (from " + setting.Origin.String() + ")"
		if setting.Variable == "" {
			name = setting.Texts[0]
		}
	}
	path, err := clew.FindAgent(name)
	if err != nil {
		looked := ""
		if missing, ok := errors.AsType[*clew.NotFoundError](err); ok {
			looked = "; looked at " + strings.Join(missing.Looked, ", ")
		}
		return []diagnosis{{
			State: stateProblem, Found: "the agent binary was not found" + looked + from,
			Advice: "Install Claude Code with \"npm install -g @anthropic-ai/claude-code\", or set agent_path, CLEW_AGENT " +
				"or --agent-path to its binary. Without it, clew can still show, search and count sessions.",
		}}
	}
	details := agentDetails{Path: path, Tested: testedAgent}
	version, err := agentVersion(ctx, path)
	if err != nil {
		return []diagnosis{{
			State: stateProblem, Found: fmt.Sprintf("%s does not print its version: %v%s", path, err, from),
			Advice: "Run it with --version to see why, and install Claude Code again.", Details: details,
		}}
	}
	details.Version = version
	state, remark, advice := judgeVersion(version)
	found := fmt.Sprintf("Claude Code %s%s, %s%s", version, remark, path, from)
	return []diagnosis{{State: state, Found: found, Advice: advice, Details: details}}
}

// versionLimit is the time limit for the agent to print its version.
var versionLimit = 8 * time.Second

var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d+\.\d+\.\d+\S*`)
})

// agentVersion runs the agent with --version.
func agentVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	var out clipped
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second // a child of a script may keep the pipe open
	cmd.Env = append(agentEnviron(), "DISABLE_AUTOUPDATER=1")
	err := cmd.Run()
	text := strings.TrimSpace(out.text.String())
	switch {
	case out.full:
		return "", fmt.Errorf("--version printed more than %d bytes", maxVersionOutput)
	case ctx.Err() != nil:
		return "", fmt.Errorf("still running after %v", versionLimit)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", errors.New(strings.Join(strings.Fields(clikit.Cause(err).Error()+" "+clikit.Clip(text)), " "))
	}
	found := versionPattern().FindString(text)
	if found == "" {
		return "", fmt.Errorf("it printed %q", clikit.Clip(text))
	}
	return clikit.Clip(found), nil
}

// maxVersionOutput is the size of the longest output of --version, in bytes.
const maxVersionOutput = 4 << 10

// A clipped is a writer that keeps the start of the output. It refuses more, which ends the program
// that writes.
type clipped struct {
	text bytes.Buffer
	full bool
}

func (c *clipped) Write(p []byte) (int, error) {
	n, _ := c.text.Write(p[:min(len(p), maxVersionOutput-c.text.Len())]) // it never fails
	if c.full = n < len(p); c.full {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// judgeVersion compares a version with the versions that clew supports and is tested with.
func judgeVersion(agent string) (state checkState, remark, advice string) {
	switch {
	case version.Compare(agent, clew.MinAgentVersion) < 0:
		return stateWarning, ", which is older than " + clew.MinAgentVersion + ", the oldest version that clew supports",
			"Update it with \"claude update\"."
	case version.Compare(agent, testedAgent) < 0:
		return stateNote, ", which is older than " + testedAgent + ", the version that clew is tested with",
			"If something does not work, update it with \"claude update\"."
	case version.Compare(agent, testedAgent) > 0:
		return stateNote, ", which is newer than " + testedAgent + ", the version that clew is tested with",
			"If something does not work, update clew."
	}
	return stateOK, ", the version that clew is tested with", ""
}

// The variables that give an agent access to a model. Their values are never shown.
var loginVariables = []string{
	keyVariable, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
	"CLAUDE_CODE_USE_FOUNDRY",
}

// checkLogin checks whether there is a key or a login, without reading it.
func checkLogin() []diagnosis {
	for _, name := range loginVariables {
		if os.Getenv(name) != "" {
			return []diagnosis{{State: stateOK, Found: name + " is set"}}
		}
	}
	roots, _ := sessions.Roots() // the check of transcripts reports errors
	for _, root := range roots {
		path := filepath.Join(root, ".credentials.json")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return []diagnosis{{State: stateOK, Found: "login found in " + path}}
		}
	}
	for _, f := range agentSettingsFiles() {
		if f.Source == agentsettings.Project || f.Source == agentsettings.Local {
			continue // nobody may have trusted the project
		}
		if helper, ok := setting[string](f, "apiKeyHelper"); ok && helper != "" {
			return []diagnosis{{State: stateOK, Found: "apiKeyHelper is set in the agent's settings"}}
		}
	}
	if runtime.GOOS == "darwin" {
		return []diagnosis{{
			State: stateNote, Found: keyVariable + " is not set; the keychain was not checked for a login",
			Advice: "If the agent says that it is not logged in, run \"claude\" and then /login.",
		}}
	}
	return []diagnosis{{
		State: stateWarning, Found: "no key and no login found",
		Advice: "Run \"claude\" and then /login, or set " + keyVariable + ". Only clew run and clew chat need it.",
	}}
}

// A transcriptSet lists all the user's transcripts. It is read once, by the first check that needs
// it.
type transcriptSet struct {
	now   time.Time
	once  sync.Once
	roots []string
	files []transcriptFile // of sessions
	bytes int64            // including the files beside them
	err   error            // why some could not be read
}

// A transcriptFile is the transcript of a session.
type transcriptFile struct {
	path     string
	size     int64
	modified time.Time
}

func newTranscriptSet(now time.Time) *transcriptSet { return &transcriptSet{now: now} }

// list finds the transcripts.
func (s *transcriptSet) list(ctx context.Context) {
	s.once.Do(func() {
		s.roots, s.err = sessions.Roots()
		for f, err := range sessions.Files(ctx, nil) {
			switch {
			case ctx.Err() != nil:
				s.err = errors.New("not enough time to read all of them")
				return
			case err != nil:
				s.err = err
				return
			}
			s.add(f)
		}
	})
}

func (s *transcriptSet) add(f sessions.File) {
	s.bytes += f.Info.Size()
	if f.SessionID != "" && f.AgentID == "" && !f.Spill {
		s.files = append(s.files, transcriptFile{path: f.Path, size: f.Info.Size(), modified: f.Info.ModTime()})
	}
}

type transcriptDetails struct {
	Roots    []string `json:"roots"`
	Sessions int      `json:"sessions"`
	Bytes    int64    `json:"bytes"`
	Largest  string   `json:"largest"` // a path
}

// checkFolders reports the directories and the number of transcripts.
func (s *transcriptSet) checkFolders(ctx context.Context) []diagnosis {
	s.list(ctx)
	var all []diagnosis
	if s.err != nil {
		all = append(all, diagnosis{
			State: stateWarning, Found: "some cannot be read: " + strings.ReplaceAll(s.err.Error(), "\n", "; "),
			Advice: "Check the permissions of the directory, or set CLAUDE_CONFIG_DIR to the agent's directory.",
		})
	}
	if len(s.files) == 0 {
		none := "no agent directory found"
		if len(s.roots) > 0 {
			none = "no sessions in " + strings.Join(s.roots, ", ")
		}
		return append(all, diagnosis{
			State: stateNote, Found: none,
			Advice: "Run \"clew demo\" for a tour, or \"clew run\" to start a session. If your sessions are elsewhere, set " +
				"CLAUDE_CONFIG_DIR.",
		})
	}
	largest := slices.MaxFunc(s.files, func(a, b transcriptFile) int { return int(min(1, max(-1, a.size-b.size))) })
	return append(all, diagnosis{
		State: stateOK,
		Found: fmt.Sprintf("%s in %s, %s with their other files; the largest has %s: %s",
			wording.Count(len(s.files), "session"), strings.Join(s.roots, ", "), wording.Size(s.bytes), wording.Size(largest.size),
			largest.path),
		Details: transcriptDetails{Roots: s.roots, Sessions: len(s.files), Bytes: s.bytes, Largest: largest.path},
	})
}

const (
	usualRetention = 30 // days after which an agent deletes a session by default
	soon           = 7  // days
)

type retentionDetails struct {
	Days    float64 `json:"days"`
	Overdue int     `json:"overdue"`
	Soon    int     `json:"soon"` // in the next seven days, including the overdue ones
}

// checkRetention reports the sessions that the agent will delete soon.
func (s *transcriptSet) checkRetention(ctx context.Context) []diagnosis {
	s.list(ctx)
	days, from := retention()
	keep := time.Duration(days * float64(24*time.Hour))
	if days > 100_000 {
		keep = 100_000 * 24 * time.Hour // the limit of a duration
	}
	d := retentionDetails{Days: days}
	left := keep
	for _, f := range s.files {
		rest := keep - s.now.Sub(f.modified)
		left = min(left, rest)
		if rest <= 0 {
			d.Overdue++
		}
		if rest <= soon*24*time.Hour {
			d.Soon++
		}
	}
	found := fmt.Sprintf("the agent deletes sessions %s after their last change%s",
		wording.Count(int(min(days, 100_000)), "day"), from)
	switch {
	case d.Soon > 0:
		return []diagnosis{{
			State: stateWarning, Found: fmt.Sprintf("%s: %s in the next %d days, %d of them at its next start",
				found, wording.Count(d.Soon, "session"), soon, d.Overdue),
			Advice: "Run \"clew archive\" to keep copies of all sessions, which \"clew restore\" brings back. Or set " +
				"cleanupPeriodDays in the agent's settings.json to a larger number, such as 3650.",
			Details: d,
		}}
	case len(s.files) > 0:
		found += fmt.Sprintf("; the first one in %s", wording.Count(int(left/(24*time.Hour)), "day"))
	}
	return []diagnosis{{State: stateOK, Found: found, Details: d}}
}

// retention returns the number of days after which sessions are deleted, and where it is set.
func retention() (days float64, from string) {
	days = usualRetention
	for _, f := range agentSettingsFiles() {
		if set, ok := setting[float64](f, "cleanupPeriodDays"); ok && set >= 1 {
			days, from = set, " ("+f.Path+")"
		}
	}
	return days, from
}

const (
	newest       = 20       // sessions that are checked for unknown entries
	longestRead  = 32 << 20 // bytes; larger sessions are left out
	driftsListed = 5
)

type formatDetails struct {
	Read     int                  `json:"read"`
	Findings []transcript.Finding `json:"findings"`
	Invalid  int                  `json:"invalid"`
}

// checkFormat looks for unknown entries in the newest sessions.
func (s *transcriptSet) checkFormat(ctx context.Context) []diagnosis {
	s.list(ctx)
	files := slices.SortedFunc(slices.Values(s.files), func(a, b transcriptFile) int { return b.modified.Compare(a.modified) })
	var drift transcript.Drift
	var d formatDetails
	for _, f := range files {
		if d.Read == newest || ctx.Err() != nil {
			break
		}
		if f.size > longestRead {
			continue
		}
		t, err := sessions.ReadFile(ctx, f.path, &sessions.ReadOptions{OnlyMain: true})
		if t == nil || err != nil {
			continue
		}
		d.Read++
		d.Invalid += len(t.Invalid)
		drift.Merge(t.Drift)
	}
	d.Findings = drift.Findings()
	return []diagnosis{d.diagnosis()}
}

func (d formatDetails) diagnosis() diagnosis {
	within := "in the newest " + wording.Count(d.Read, "session")
	switch {
	case d.Read == 0:
		return diagnosis{State: stateOK, Found: "no sessions to check", Details: d}
	case len(d.Findings) == 0 && d.Invalid == 0:
		return diagnosis{State: stateOK, Found: "everything is known " + within, Details: d}
	case len(d.Findings) == 0:
		return diagnosis{
			State: stateNote, Found: fmt.Sprintf("%s that are not entries, %s", wording.Count(d.Invalid, "line"), within),
			Advice: "An agent that was killed leaves incomplete lines; clew skips them.", Details: d,
		}
	}
	var names []string
	for _, f := range d.Findings[:min(driftsListed, len(d.Findings))] {
		names = append(names, fmt.Sprintf("%s %s (version %s, %s)", f.Kind, f.Name, f.Version, wording.Count(f.Count, "time")))
	}
	if more := len(d.Findings) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return diagnosis{
		State: stateNote, Found: fmt.Sprintf("unknown entries %s: %s", within, strings.Join(names, ", ")),
		Advice: "They are kept, but may not be shown. Update clew, or report them.", Details: d,
	}
}
