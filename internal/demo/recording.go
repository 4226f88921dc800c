package demo

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/clewdev/clew/clewtest"
)

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
