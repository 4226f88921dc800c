package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/simmodel"
	"github.com/clewdev/clew/wire"
)

// A Past is a session of some other day, so that a tour has more than one session to browse. Its
// recording was made over a scripted model, like the recordings of the task.
type Past struct {
	// Name is the name of the recording, and of the project below /home/dev.
	Name string
	// Title is the agent's title of the session. Only agents in a terminal write it down.
	Title string
	// Files are the files of the project.
	Files map[string]string
	// Printed are lines that commands print in it, as far as they are not in its files.
	Printed []string
	// Prompts are the user's prompts, turn by turn.
	Prompts []string

	steps []step
	// The session has ended some days before the tour, at a time of day. It went so many times slower
	// than the recording, which no model has slowed down.
	daysAgo, hour, minute int
	slower                int
}

// A step is an answer of the model to requests with a certain end.
type step struct {
	match  func(*simmodel.Request) bool
	usage  simmodel.Usage
	blocks []wire.Block
}

// Pasts returns the sessions of other days, the newest first.
func Pasts() []*Past { return []*Past{flakyUpload(), pagination(), armBuild(), releaseNotes()} }

// Dir returns the working directory of the recording.
func (p *Past) Dir() string { return "/home/dev/" + p.Name }

// Said returns what the model says in the session.
func (p *Past) Said() []string {
	var texts []string
	for _, s := range p.steps {
		for _, block := range s.blocks {
			switch b := block.(type) {
			case *wire.TextBlock:
				texts = append(texts, b.Text)
			case *wire.ThinkingBlock:
				texts = append(texts, b.Thinking)
			}
		}
	}
	return texts
}

// Write writes the files of the project into a directory.
func (p *Past) Write(dir string) error {
	for name, text := range p.Files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
			return err
		}
	}
	commit(dir)
	return nil
}

// Start starts a model that gives the answers of the session, for a project in dir. The caller has to
// close it.
func (p *Past) Start(ctx context.Context, dir string) (*Model, error) {
	return startModel(ctx, func(model *simmodel.Model) { p.script(model, dir) })
}

func (p *Past) script(model *simmodel.Model, dir string) {
	for _, s := range p.steps {
		for _, block := range s.blocks {
			if call, ok := block.(*wire.ToolUseBlock); ok { // tools need whole paths
				call.Input = wire.JSON(strings.Replace(string(call.Input), `"file_path":"`, `"file_path":"`+dir+"/", 1))
			}
		}
		a := simmodel.NewAnswer(simmodel.AnswerReply, s.blocks...)
		a.Usage = s.usage
		model.Add(s.match, a).Times(1)
	}
}

// Lay writes the transcripts of the session below config, a directory of settings, as if the
// session had ended some days before now.
func (p *Past) Lay(config string, now time.Time) error {
	r := Recording(path.Join("past", p.Name))
	year, month, day := now.Date()
	end := time.Date(year, month, day-p.daysAgo, p.hour, p.minute, 0, 0, now.Location())
	return r.lay(config, "projects/-home-dev-"+p.Name, p.Title, stretch{end: end, slower: p.slower})
}

// LayPasts writes the transcripts of all sessions of other days.
func LayPasts(config string, now time.Time) error {
	var errs []error
	for _, p := range Pasts() {
		if err := p.Lay(config, now); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// A stretch moves the times of a recording.
type stretch struct {
	end    time.Time // of the last line
	slower int       // how many times longer everything takes
	last   time.Time // of the last line of the recording
}

func (s stretch) at(recorded time.Time) time.Time {
	return s.end.Add(-s.last.Sub(recorded) * time.Duration(s.slower))
}

func asked(words string) func(*simmodel.Request) bool  { return simmodel.PromptContains(words) }
func showed(words string) func(*simmodel.Request) bool { return simmodel.ToolResultContains(words) }
func think(text string) wire.Block                     { return &wire.ThinkingBlock{Thinking: text, Signature: "c2ln"} }
func sh(command, what string) wire.Block {
	return simmodel.ToolUse("Bash", map[string]string{"command": command, "description": what})
}
func change(file, old, replacement string) wire.Block {
	return simmodel.ToolUse("Edit", map[string]string{"file_path": file, "old_string": old, "new_string": replacement})
}
func create(file, text string) wire.Block {
	return simmodel.ToolUse("Write", map[string]string{"file_path": file, "content": text})
}
func explore(what, prompt string) wire.Block {
	return simmodel.ToolUse("Agent", struct {
		Description  string `json:"description"`
		Prompt       string `json:"prompt"`
		SubagentType string `json:"subagent_type"`
		Background   bool   `json:"run_in_background"`
	}{what, prompt, "Explore", false})
}

func blocks(list ...wire.Block) []wire.Block { return list }
