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
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/config"
	"github.com/clewdev/clew/sessions"
)

// testedAgent is the version of Claude Code that clew is tested with.
const testedAgent = "2.1.325"

func checkBuild(context.Context) []diagnosis {
	b := readBuild()
	return []diagnosis{{
		State: healthy, Found: fmt.Sprintf("%s, revision %s, %s %s", b.Version, b.revision(), b.Go, b.Platform), Details: b,
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
			State: unhealthy, Found: "the agent binary was not found" + looked + from,
			Advice: "Install Claude Code with \"npm install -g @anthropic-ai/claude-code\", or name its binary with " +
				"agent_path, CLEW_AGENT or --agent-path. Without it, clew can still show and count what there is.",
		}}
	}
	details := agentDetails{Path: path, Tested: testedAgent}
	version, err := agentVersion(ctx, path)
	if err != nil {
		return []diagnosis{{
			State: unhealthy, Found: fmt.Sprintf("%s does not tell its version: %v%s", path, err, from),
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
func judgeVersion(version string) (state health, remark, advice string) {
	switch {
	case compareVersions(version, clew.MinAgentVersion) < 0:
		return worrying, ", which is older than " + clew.MinAgentVersion + ", the oldest one that clew is made for",
			"Update it with \"claude update\"."
	case compareVersions(version, testedAgent) < 0:
		return noted, ", which is older than " + testedAgent + ", the one that clew is tested with",
			"If something does not work, update it with \"claude update\"."
	case compareVersions(version, testedAgent) > 0:
		return noted, ", which is newer than " + testedAgent + ", the one that clew is tested with",
			"If something does not work, look for a newer clew."
	}
	return healthy, ", the version that clew is tested with", ""
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
			return []diagnosis{{State: healthy, Found: name + " is set"}}
		}
	}
	roots, _ := sessions.Roots() // the check of transcripts tells of errors
	for _, root := range roots {
		path := filepath.Join(root, ".credentials.json")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return []diagnosis{{State: healthy, Found: "a login is in " + path}}
		}
		if settings, err := readAgentSettings(filepath.Join(root, "settings.json")); err == nil && settings.KeyHelper != "" {
			return []diagnosis{{State: healthy, Found: "apiKeyHelper is set in the agent's settings"}}
		}
	}
	if runtime.GOOS == "darwin" {
		return []diagnosis{{
			State: noted, Found: keyVariable + " is not set; whether there is a login in the keychain was not looked at",
			Advice: "If the agent says that it is not logged in, run \"claude\" and then /login.",
		}}
	}
	return []diagnosis{{
		State: worrying, Found: "no key and no login was found",
		Advice: "Run \"claude\" and then /login, or set " + keyVariable + ". Only clew run and clew chat need it.",
	}}
}
