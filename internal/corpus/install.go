package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Largest fills dir as [Projects] does for the benchmarks, and returns the path of the largest
// session: 57 MB with 47 subagents.
func Largest(dir string) (path string, err error) {
	if _, err := Projects(dir, 1, ProjectsSize); err != nil {
		return "", err
	}
	size := int64(0)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".jsonl") {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			path, size = file, info.Size()
		}
		return err
	})
	return path, err
}

// Install copies a recorded session to dir, where its subagents are as the agent puts them, and
// returns the path of its transcript. In the recording they are in the folder subagents beside the
// transcript, or one is in agent.jsonl.
func Install(dir, transcript string) (path string, err error) {
	path = filepath.Join(dir, filepath.Base(transcript))
	agents := filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		return "", err
	}
	from := filepath.Dir(transcript)
	copies := map[string]string{
		path:                                   transcript,
		filepath.Join(agents, "agent-1.jsonl"): filepath.Join(from, "agent.jsonl"),
		filepath.Join(agents, "agent-1.meta.json"): filepath.Join(from, "agent.meta.json"),
	}
	found, err := filepath.Glob(filepath.Join(from, "subagents", "*"))
	if err != nil {
		return "", err
	}
	for _, file := range found {
		copies[filepath.Join(agents, filepath.Base(file))] = file
	}
	for to, file := range copies {
		data, err := os.ReadFile(file)
		if os.IsNotExist(err) && file != transcript {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return "", err
		}
	}
	return path, nil
}
