// Package demo is what "clew demo" shows: a small project with a bug, a model that is scripted to mend it, and
// recordings of Claude Code at that, over this model.
//
// [Script] is the model's part. It serves whoever has the agent binary; [Play] plays a recording for those who have not.
// The recordings are made from the same script, by "make record", and a test with the agent binary compares them with
// what it does today.
package demo

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// The task, as it is given to the agent.
const (
	Prompt  = "test.sh fails. Find out why, and fix it."
	Allowed = "Bash(sh test.sh)" // the rule for what needs no question
)

// What the model says, where others have to know it.
const (
	errand = "Read slug.sh and say why \"Hello, World!\" becomes hello--world- and not hello-world."

	// Finding is the report of the subagent.
	Finding = "Line 3 of slug.sh is the cause: tr -c turns every other character into a hyphen of its own, so a comma " +
		"with a blank behind it gives two, and the exclamation mark leaves one at the end."

	fixed = "Fixed: all three tests pass. In slug.sh, tr -cs now makes one hyphen of several characters, and sed cuts " +
		"those at the beginning and the end."
	left = "All right, slug.sh stays as it is. To fix it by hand, make line 3\n    " + after

	before = `printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-'`
	after  = `printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'`
)

//go:embed project
var project embed.FS

// Lay writes the files of the project into dir, which is made if there is none. Where git is at hand, it becomes a
// repository, as an agent is used to.
func Lay(dir string) error {
	files, err := fs.Sub(project, "project")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"slug.sh", "test.sh"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	commit(dir)
	return nil
}

// commit makes a repository of a folder, with its files on the branch main. The task can be done without.
func commit(dir string) {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Dev", "-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "Begin"},
	} {
		cmd := exec.Command("git", args...) //nolint:noctx // it is quick, and asks nobody
		cmd.Dir = dir
		cmd.Env = append(environWithoutGit(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if cmd.Run() != nil {
			return
		}
	}
}

// environWithoutGit leaves out the variables of git: one of them may name another repository.
func environWithoutGit() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
}

// Options returns the options of an agent that works on the project in dir, over a model that is scripted for it. Nothing of
// the user's own settings and variables reaches the agent; it keeps its files in config.
func Options(model *clewtest.Model, dir, config string) *clew.Options {
	return &clew.Options{
		Dir:                    dir,
		Env:                    append(model.Env(), "CLAUDE_CONFIG_DIR="+config),
		InheritEnv:             []string{},
		AllowedTools:           []string{Allowed},
		PermissionMode:         clew.PermissionModeDefault,
		IncludePartialMessages: true,
	}
}

// Script makes the model mend the project in dir: at once, or with time to read along.
func Script(model *clewtest.Model, dir string, atOnce bool) {
	path := filepath.Join(dir, "slug.sh")
	reply := func(rule *clewtest.Rule, blocks ...wire.Block) *clewtest.Rule {
		rule.Reply(blocks...).ChunkSize(chunk)
		if !atOnce {
			rule.Delay(beforeAnswer).Pace(beforeText)
		}
		return rule
	}
	say := clewtest.Text

	reply(model.On(Prompt), say("I'll run the tests first."), test()).Usage(6, 94, 0, 15210).Once()
	reply(model.OnToolResult("FAIL"), say("One of three fails. A subagent can look for the cause."), delegate()).
		Usage(2, 187, 15210, 418).Once()
	reply(model.On(errand), read(path)).Usage(4, 71, 0, 6120).Once()
	reply(model.OnToolResult(before), say(Finding)).Usage(2, 118, 6120, 305).Once()
	reply(model.OnToolResult(Finding), say("That explains both. I'll squeeze the hyphens, and cut those at the ends."),
		read(path)).Usage(2, 126, 15628, 352).Once()
	reply(model.OnToolResult(before), edit(path)).Usage(2, 164, 15980, 290).Once()
	reply(model.OnToolResult("has been updated"), test()).Usage(2, 83, 16270, 243).Once()
	reply(model.OnToolResult("ok    Hello, World!"), say(fixed)).Usage(2, 121, 16513, 172).Once()
	reply(model.OnToolResult(""), say(left)).Usage(2, 88, 16270, 121)
}

// chunk is how many characters of a text appear at once.
const chunk = 6

func read(path string) wire.Block {
	return clewtest.ToolUse("Read", map[string]string{"file_path": path})
}

func test() wire.Block {
	return clewtest.ToolUse("Bash", map[string]string{"command": "sh test.sh", "description": "Run the tests"})
}

func delegate() wire.Block {
	return clewtest.ToolUse("Agent", struct {
		Description  string `json:"description"`
		Prompt       string `json:"prompt"`
		SubagentType string `json:"subagent_type"`
		Background   bool   `json:"run_in_background"`
	}{"Find the cause", errand, "Explore", false})
}

func edit(path string) wire.Block {
	return clewtest.ToolUse("Edit", map[string]string{"file_path": path, "old_string": before, "new_string": after})
}

//go:embed recording
var recordings embed.FS

// A Recording is Claude Code at the task: what it said to its host, and the files that it wrote.
type Recording string

// The recordings differ in what the user said to the change.
const (
	AllowedRecording Recording = "allowed"
	DeniedRecording  Recording = "denied"
)

func (r Recording) read(name string) ([]byte, error) {
	return recordings.ReadFile(path.Join("recording", string(r), name))
}

// scenario returns what the agent said.
func (r Recording) scenario() (*clewtest.Scenario, error) {
	text, err := r.read("dialogue.txt")
	if err != nil {
		return nil, err
	}
	return clewtest.ReadDialogue(bytes.NewReader(text))
}

// denial returns the frame with which the host denied the change.
func (r Recording) denial() ([]byte, error) {
	text, err := r.read("dialogue.txt")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		if frame, ok := bytes.CutPrefix(line, []byte("> ")); ok && isDenial(frame) {
			return frame, nil
		}
	}
	return nil, errors.New("demo: nothing is denied in the recording")
}

// projectFolder is where the agent keeps the transcripts of the project, below its folder of settings. The project of the
// recordings is /home/dev/slug.
const projectFolder = "projects/-home-dev-slug"

var (
	sessionID = regexp.MustCompile(`"sessionId":"([0-9a-f-]{36})"`)
	timestamp = regexp.MustCompile(`"timestamp":"([^"]*)"`)
)

// Lay writes the transcripts of the recording below config, a folder of settings, as if the agent had written the last line
// at a given time.
func (r Recording) Lay(config string, end time.Time) error {
	main, err := r.read("transcript.jsonl")
	if err != nil {
		return err
	}
	id, times := sessionID.FindSubmatch(main), timestamp.FindAllSubmatch(main, -1)
	if id == nil || times == nil {
		return errors.New("demo: the recording has no session")
	}
	last, err := time.Parse(time.RFC3339, string(times[len(times)-1][1]))
	if err != nil {
		return err
	}
	session := filepath.Join(config, filepath.FromSlash(projectFolder), string(id[1]))
	files, err := fs.Glob(recordings, path.Join("recording", string(r), "subagents", "*"))
	if err != nil {
		return err
	}
	copies := map[string]string{session + ".jsonl": "transcript.jsonl"}
	for _, file := range files {
		copies[filepath.Join(session, "subagents", path.Base(file))] = path.Join("subagents", path.Base(file))
	}
	for target, name := range copies {
		if err := r.copyTo(target, name, end.Sub(last)); err != nil {
			return err
		}
		if err := os.Chtimes(target, end, end); err != nil {
			return err
		}
	}
	return nil
}

// copyTo writes a file of the recording, its times moved.
func (r Recording) copyTo(target, name string, later time.Duration) error {
	text, err := r.read(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(postpone(string(text), later)), 0o600)
}

// postpone moves the times of a transcript.
func postpone(text string, later time.Duration) string {
	return timestamp.ReplaceAllStringFunc(text, func(member string) string {
		value := strings.TrimSuffix(strings.TrimPrefix(member, `"timestamp":"`), `"`)
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return member
		}
		return `"timestamp":"` + at.Add(later).UTC().Format("2006-01-02T15:04:05.000Z") + `"`
	})
}
