// Package demo holds the project, the scripted model and the recordings that "clew demo" shows. The
// project has a bug, the model is scripted to fix it, and the recordings show Claude Code fixing it
// over this model.
//
// [StartModel] starts the model, for users who have the agent binary. A [Player] plays a recording
// for users who don't. "make record" makes the recordings with the same model, and a test with
// the agent binary compares both by their shape.
package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/simagent"
	"github.com/clewdev/clew/internal/simmodel"
	"github.com/clewdev/clew/wire"
)

// The task, as it is given to the agent.
const (
	Prompt  = "test.sh fails. Find out why, and fix it."
	Allowed = "Bash(sh test.sh)" // the permission rule for the command that the agent may run without a question
)

// Answers of the model that other rules or tests refer to.
const (
	errand = "Read slug.sh and say why \"Hello, World!\" becomes hello--world- and not hello-world."

	// Finding is the report of the subagent.
	Finding = "Line 3 of slug.sh is the cause: tr -c turns every other character into a separate hyphen, so a comma and a " +
		"space give two, and the exclamation mark leaves one at the end."

	fixed = "Fixed: all three tests pass. In slug.sh, tr -cs now makes one hyphen of several characters, and sed cuts " +
		"those at the beginning and the end."
	left = "All right, slug.sh stays as it is. To fix it by hand, make line 3\n    " + after

	before = `printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-'`
	after  = `printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'`
)

//go:embed project
var project embed.FS

// RecordedDir is the working directory of the recordings.
const RecordedDir = "/home/dev/slug"

// ReadFile returns a file of the project as it is before the task, by its path in the recordings.
func ReadFile(name string) (string, error) {
	text, err := fs.ReadFile(project, path.Join("project", path.Base(filepath.ToSlash(name))))
	return string(text), err
}

// Lay writes the files of the project into dir, and makes dir if it does not exist. If git is
// installed, dir becomes a repository, because agents usually work in one.
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

// commit makes dir a repository with its files on the branch main. It ignores errors: the task does
// not need git.
func commit(dir string) {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Dev", "-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "Begin"},
	} {
		cmd := exec.Command("git", args...) //nolint:noctx // it is quick, and does not wait for input
		cmd.Dir = dir
		cmd.Env = append(environWithoutGit(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if cmd.Run() != nil {
			return
		}
	}
}

// environWithoutGit returns the environment without the variables of git, which may name another
// repository.
func environWithoutGit() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
}

// A Model is a scripted model that fixes the project.
type Model struct {
	*simmodel.Model
	dir      string // of the agent's home and temporary files; removed by Close
	reporter *failures
}

// StartModel starts a model that fixes the project in dir, at once or at a pace that people can
// follow. The caller has to close it.
func StartModel(ctx context.Context, dir string, atOnce bool) (*Model, error) {
	return startModel(ctx, func(model *simmodel.Model) { script(model, dir, atOnce) })
}

func startModel(ctx context.Context, script func(*simmodel.Model)) (*Model, error) {
	temp, err := os.MkdirTemp("", "clew-demo-model-")
	if err != nil {
		return nil, err
	}
	reporter := &failures{}
	model, err := simmodel.Start(ctx, temp, reporter)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	script(model)
	return &Model{model, temp, reporter}, nil
}

// Close ends the model and removes its files: end the agent first. The error also reports requests
// that the model could not answer.
func (m *Model) Close() error {
	err := m.Model.Close()
	return errors.Join(m.reporter.err(), err, os.RemoveAll(m.dir))
}

// Options returns the options of an agent that works over the model on the project in dir. Nothing
// of the user's own settings and variables reaches the agent. It keeps its settings and transcripts
// in config.
func (m *Model) Options(dir, config string) *clew.Options {
	return &clew.Options{
		Dir:                    dir,
		Env:                    append(m.Env(), "CLAUDE_CONFIG_DIR="+config),
		InheritEnv:             []string{},
		AllowedTools:           []string{Allowed},
		PermissionMode:         clew.PermissionModeDefault,
		IncludePartialMessages: true,
	}
}

// A failures keeps what a model or an agent reports as wrong.
type failures struct {
	mu   sync.Mutex
	list []error
}

// Errorf keeps an error.
func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fmt.Errorf(format, args...))
}

// Logf does nothing: requests in the background are not failures.
func (f *failures) Logf(string, ...any) {}

// err returns all errors, or nil.
func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.list...)
}

// script makes the model fix the project in dir.
func script(model *simmodel.Model, dir string, atOnce bool) {
	path := filepath.Join(dir, "slug.sh")
	prompt, result := simmodel.PromptContains, simmodel.ToolResultContains
	add := func(match func(*simmodel.Request) bool, usage simmodel.Usage, blocks ...wire.Block) *simmodel.Rule {
		a := simmodel.NewAnswer(simmodel.AnswerReply, blocks...)
		a.Usage, a.Chunk = usage, chunk
		if !atOnce {
			a.Delay, a.Pace = beforeAnswer, beforeText
		}
		return model.Add(match, a)
	}
	once := func(match func(*simmodel.Request) bool, usage simmodel.Usage, blocks ...wire.Block) {
		add(match, usage, blocks...).Times(1)
	}
	once(prompt(Prompt), tokens(6, 94, 0, 15210), say("I'll run the tests first."), test())
	once(result("FAIL"), tokens(2, 187, 15210, 418), say("One of three fails. A subagent can look for the cause."), delegate())
	once(prompt(errand), tokens(4, 71, 0, 6120), read(path))
	once(result(before), tokens(2, 118, 6120, 305), say(Finding))
	once(result(Finding), tokens(2, 126, 15628, 352),
		say("That explains both. I'll squeeze the hyphens, and cut those at the ends."), read(path))
	once(result(before), tokens(2, 164, 15980, 290), edit(path))
	once(result("has been updated"), tokens(2, 83, 16270, 243), test())
	once(result("ok    Hello, World!"), tokens(2, 121, 16513, 172), say(fixed))
	add(result(""), tokens(2, 88, 16270, 121), say(left))
}

// chunk is the number of characters of a text that appear at once.
const chunk = 6

func tokens(input, output, cacheRead, cacheWrite int) simmodel.Usage {
	return simmodel.Usage{Input: input, Output: output, CacheRead: cacheRead, CacheWrite: cacheWrite}
}

func say(text string) wire.Block { return &wire.TextBlock{Text: text} }

func read(path string) wire.Block {
	return simmodel.ToolUse("Read", map[string]string{"file_path": path})
}

func test() wire.Block {
	return simmodel.ToolUse("Bash", map[string]string{"command": "sh test.sh", "description": "Run the tests"})
}

func delegate() wire.Block {
	return simmodel.ToolUse("Agent", struct {
		Description  string `json:"description"`
		Prompt       string `json:"prompt"`
		SubagentType string `json:"subagent_type"`
		Background   bool   `json:"run_in_background"`
	}{"Find the cause", errand, "Explore", false})
}

func edit(path string) wire.Block {
	return simmodel.ToolUse("Edit", map[string]string{"file_path": path, "old_string": before, "new_string": after})
}

//go:embed recording
var recordings embed.FS

// A Recording is the name of a recording of Claude Code: its dialogue with the host, and the
// transcripts that it wrote.
type Recording string

// The recordings differ in whether the user allowed the change.
const (
	AllowedRecording Recording = "allowed"
	DeniedRecording  Recording = "denied"
)

func (r Recording) read(name string) ([]byte, error) {
	return recordings.ReadFile(path.Join("recording", string(r), name))
}

// scenario returns the dialogue.
func (r Recording) scenario() (*simagent.Scenario, error) {
	text, err := r.read("dialogue.txt")
	if err != nil {
		return nil, err
	}
	return simagent.ReadDialogue(bytes.NewReader(text), "dialogue.txt:")
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

// projectDir is the directory of the project's transcripts, below the agent's settings directory.
// The project of the recordings is /home/dev/slug.
const projectDir = "projects/-home-dev-slug"

var (
	sessionID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"sessionId":"([0-9a-f-]{36})"`)
	})
	timestamp = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"timestamp":"([^"]*)"`)
	})
)

// Lay writes the transcripts of the recording below config, a directory of settings. Their times
// are moved so that the last line was written at end.
func (r Recording) Lay(config string, end time.Time) error {
	return r.lay(config, projectDir, "", stretch{end: end, slower: 1})
}

// lay also adds a title, unless it is "".
func (r Recording) lay(config, project, title string, times stretch) error {
	main, err := r.read("transcript.jsonl")
	if err != nil {
		return err
	}
	id, all := sessionID().FindSubmatch(main), timestamp().FindAllSubmatch(main, -1)
	if id == nil || all == nil {
		return errors.New("demo: the recording has no session")
	}
	if times.last, err = time.Parse(time.RFC3339, string(all[len(all)-1][1])); err != nil {
		return err
	}
	session := filepath.Join(config, filepath.FromSlash(project), string(id[1]))
	files, err := fs.Glob(recordings, path.Join("recording", string(r), "subagents", "*"))
	if err != nil {
		return err
	}
	copies := map[string]string{session + ".jsonl": "transcript.jsonl"}
	for _, file := range files {
		copies[filepath.Join(session, "subagents", path.Base(file))] = path.Join("subagents", path.Base(file))
	}
	for target, name := range copies {
		more := ""
		if title != "" && name == "transcript.jsonl" {
			more = fmt.Sprintf(`{"type":"ai-title","aiTitle":%q,"sessionId":%q}`+"\n", title, id[1])
		}
		if err := r.copyTo(target, name, more, times); err != nil {
			return err
		}
		if err := os.Chtimes(target, times.end, times.end); err != nil {
			return err
		}
	}
	return nil
}

// copyTo writes a file of the recording, with its times moved, and with more lines.
func (r Recording) copyTo(target, name, more string, times stretch) error {
	text, err := r.read(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(times.move(string(text))+more), 0o600)
}

// move moves all times of a transcript.
func (s stretch) move(text string) string {
	return timestamp().ReplaceAllStringFunc(text, func(member string) string {
		value := strings.TrimSuffix(strings.TrimPrefix(member, `"timestamp":"`), `"`)
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return member
		}
		return `"timestamp":"` + s.at(at).UTC().Format("2006-01-02T15:04:05.000Z") + `"`
	})
}
