package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/config"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// testedAgent is the version of Claude Code that clew is tested with.
const testedAgent = "2.1.325"

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
			Advice: "Install Claude Code with \"npm install -g @anthropic-ai/claude-code\", or name its binary with " +
				"agent_path, CLEW_AGENT or --agent-path. Without it, clew can still show and count what there is.",
		}}
	}
	details := agentDetails{Path: path, Tested: testedAgent}
	version, err := agentVersion(ctx, path)
	if err != nil {
		return []diagnosis{{
			State: stateProblem, Found: fmt.Sprintf("%s does not tell its version: %v%s", path, err, from),
			Advice: "Run it with --version to see why, and install Claude Code anew.", Details: details,
		}}
	}
	details.Version = version
	state, remark, advice := judgeVersion(version)
	found := fmt.Sprintf("Claude Code %s%s, %s%s", version, remark, path, from)
	return []diagnosis{{State: state, Found: found, Advice: advice, Details: details}}
}

// versionLimit is how long the agent may take to tell its version.
const versionLimit = 8 * time.Second

var versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+\S*`)

// agentVersion runs the agent with --version.
func agentVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	var out clipped
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "DISABLE_AUTOUPDATER=1")
	if roots, err := sessions.Roots(); err == nil && len(roots) > 1 {
		cmd.Env = append(cmd.Env, "CLAUDE_CONFIG_DIR="+roots[0]) // an agent can have one only
	}
	err := cmd.Run()
	text := strings.TrimSpace(out.text.String())
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("it has not ended after %v", versionLimit)
	case err != nil:
		return "", errors.New(strings.Join(strings.Fields(cause(err).Error()+" "+clip(text)), " "))
	}
	version := versionPattern.FindString(text)
	if version == "" {
		return "", fmt.Errorf("it says %q", clip(text))
	}
	return clip(version), nil
}

// A clipped keeps the beginning of what is written to it.
type clipped struct{ text bytes.Buffer }

func (c *clipped) Write(p []byte) (int, error) {
	const most = 4 << 10
	c.text.Write(p[:min(len(p), most-min(c.text.Len(), most))])
	return len(p), nil
}

// judgeVersion compares a version with those that clew is made for and tested with.
func judgeVersion(version string) (state checkState, remark, advice string) {
	switch {
	case compareVersions(version, clew.MinAgentVersion) < 0:
		return stateWarning, ", which is older than " + clew.MinAgentVersion + ", the oldest one that clew is made for",
			"Update it with \"claude update\"."
	case compareVersions(version, testedAgent) < 0:
		return stateNote, ", which is older than " + testedAgent + ", the one that clew is tested with",
			"If something does not work, update it with \"claude update\"."
	case compareVersions(version, testedAgent) > 0:
		return stateNote, ", which is newer than " + testedAgent + ", the one that clew is tested with",
			"If something does not work, look for a newer clew."
	}
	return stateOK, ", the version that clew is tested with", ""
}

func compareVersions(a, b string) int {
	partsA, partsB := strings.SplitN(a, ".", 3), strings.SplitN(b, ".", 3)
	for i := range min(len(partsA), len(partsB)) {
		if c := cmp.Compare(leadingNumber(partsA[i]), leadingNumber(partsB[i])); c != 0 {
			return c
		}
	}
	return 0
}

func leadingNumber(text string) int {
	n, _ := strconv.Atoi(text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]) // none is 0
	return n
}

// Variables by which an agent can reach a model. Their values are nobody's business.
var loginVariables = []string{
	keyVariable, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
	"CLAUDE_CODE_USE_FOUNDRY",
}

// checkLogin looks whether there is a key or a login, and not what it is.
func checkLogin() []diagnosis {
	for _, name := range loginVariables {
		if os.Getenv(name) != "" {
			return []diagnosis{{State: stateOK, Found: name + " is set"}}
		}
	}
	roots, _ := sessions.Roots() // the check of transcripts tells of errors
	for _, root := range roots {
		path := filepath.Join(root, ".credentials.json")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return []diagnosis{{State: stateOK, Found: "a login is in " + path}}
		}
		if settings, err := readAgentSettings(filepath.Join(root, "settings.json")); err == nil && settings.KeyHelper != "" {
			return []diagnosis{{State: stateOK, Found: "apiKeyHelper is set in the agent's settings"}}
		}
	}
	if runtime.GOOS == "darwin" {
		return []diagnosis{{
			State: stateNote, Found: keyVariable + " is not set; whether there is a login in the keychain was not looked at",
			Advice: "If the agent says that it is not logged in, run \"claude\" and then /login.",
		}}
	}
	return []diagnosis{{
		State: stateWarning, Found: "no key and no login was found",
		Advice: "Run \"claude\" and then /login, or set " + keyVariable + ". Only clew run and clew chat need it.",
	}}
}

// A shelf is all transcripts of the user. They are looked at once, by whoever needs them first.
type transcriptSet struct {
	now   time.Time
	once  sync.Once
	roots []string
	files []transcriptFile // the sessions
	bytes int64            // with all that lies beside them
	err   error            // why some could not be looked at
}

// A shelved is the transcript of a session.
type transcriptFile struct {
	path     string
	size     int64
	modified time.Time
}

func newTranscriptSet(now time.Time) *transcriptSet { return &transcriptSet{now: now} }

// look finds the transcripts.
func (s *transcriptSet) look(ctx context.Context) {
	s.once.Do(func() {
		s.roots, s.err = sessions.Roots()
		for f, err := range sessions.Files(ctx, nil) {
			switch {
			case ctx.Err() != nil:
				s.err = errors.New("there was no time to look at all")
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

// checkFolders tells where transcripts are, and how many.
func (s *transcriptSet) checkFolders(ctx context.Context) []diagnosis {
	s.look(ctx)
	var all []diagnosis
	if s.err != nil {
		all = append(all, diagnosis{
			State: stateWarning, Found: "not all can be looked at: " + strings.ReplaceAll(s.err.Error(), "\n", "; "),
			Advice: "Make the folder readable for you, or set CLAUDE_CONFIG_DIR to where the agent keeps its files.",
		})
	}
	if len(s.files) == 0 {
		none := "no agent has a folder here"
		if len(s.roots) > 0 {
			none = "there are no sessions in " + strings.Join(s.roots, ", ")
		}
		return append(all, diagnosis{
			State: stateNote, Found: none,
			Advice: "Run \"clew demo\" for a tour, or \"clew run\" for a session. If yours are elsewhere, set " +
				"CLAUDE_CONFIG_DIR.",
		})
	}
	largest := slices.MaxFunc(s.files, func(a, b transcriptFile) int { return int(min(1, max(-1, a.size-b.size))) })
	return append(all, diagnosis{
		State: stateOK,
		Found: fmt.Sprintf("%s in %s, %s with all that belongs to them; the largest has %s: %s",
			counted(len(s.files), "session"), strings.Join(s.roots, ", "), formatSize(s.bytes), formatSize(largest.size),
			largest.path),
		Details: transcriptDetails{Roots: s.roots, Sessions: len(s.files), Bytes: s.bytes, Largest: largest.path},
	})
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return group(int64(n)) + " " + noun + "s"
}

const (
	usualRetention = 30 // days after which an agent deletes a session, unless it is told otherwise
	soon           = 7  // days
)

type retentionDetails struct {
	Days    float64 `json:"days"`
	Overdue int     `json:"overdue"`
	Soon    int     `json:"soon"` // in the next seven days, the overdue ones included
}

// checkRetention tells which sessions the agent is about to delete.
func (s *transcriptSet) checkRetention(ctx context.Context) []diagnosis {
	s.look(ctx)
	days, from := retention()
	keep := time.Duration(days * float64(24*time.Hour))
	if days > 100_000 {
		keep = 100_000 * 24 * time.Hour // which a duration can hold
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
	found := fmt.Sprintf("the agent deletes sessions %s after they were last written to%s",
		counted(int(min(days, 100_000)), "day"), from)
	switch {
	case d.Soon > 0:
		return []diagnosis{{
			State: stateWarning, Found: fmt.Sprintf("%s: %s in the next %d days, %d of them when it starts next",
				found, counted(d.Soon, "session"), soon, d.Overdue),
			Advice: "Set cleanupPeriodDays in the agent's settings.json to more, such as 3650, or export what you want " +
				"to keep.",
			Details: d,
		}}
	case len(s.files) > 0:
		found += fmt.Sprintf("; the first one goes in %s", counted(int(left/(24*time.Hour)), "day"))
	}
	return []diagnosis{{State: stateOK, Found: found, Details: d}}
}

// retention returns after how many days sessions are deleted, and where that is set.
func retention() (days float64, from string) {
	days = usualRetention
	for _, path := range agentSettingsFiles() {
		s, err := readAgentSettings(path)
		if err == nil && s.CleanupDays != nil && *s.CleanupDays >= 1 {
			days, from = *s.CleanupDays, " ("+path+")"
		}
	}
	return days, from
}

const (
	newest       = 20       // sessions that are read for what clew does not know
	longestRead  = 32 << 20 // bytes, beyond which a session is left out
	driftsListed = 5
)

type formatDetails struct {
	Read     int                  `json:"read"`
	Findings []transcript.Finding `json:"findings"`
	Invalid  int                  `json:"invalid"`
}

// checkFormat reads the newest sessions for what clew does not know.
func (s *transcriptSet) checkFormat(ctx context.Context) []diagnosis {
	s.look(ctx)
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
	within := "in the newest " + counted(d.Read, "session")
	switch {
	case d.Read == 0:
		return diagnosis{State: stateOK, Found: "there is nothing to read", Details: d}
	case len(d.Findings) == 0 && d.Invalid == 0:
		return diagnosis{State: stateOK, Found: "all is known " + within, Details: d}
	case len(d.Findings) == 0:
		return diagnosis{
			State: stateNote, Found: fmt.Sprintf("%s that are no entries, %s", counted(d.Invalid, "line"), within),
			Advice: "They come from an agent that was stopped while it wrote; clew leaves them out.", Details: d,
		}
	}
	var names []string
	for _, f := range d.Findings[:min(driftsListed, len(d.Findings))] {
		names = append(names, fmt.Sprintf("%s %s (version %s, %s)", f.Kind, f.Name, f.Version, counted(f.Count, "time")))
	}
	if more := len(d.Findings) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return diagnosis{
		State: stateNote, Found: fmt.Sprintf("clew does not know some of what is %s: %s", within, strings.Join(names, ", ")),
		Advice: "Nothing of it is lost, but it may not be shown. Look for a newer clew, or report it.", Details: d,
	}
}
