package drivetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Record makes the agents write transcripts to a directory of projects, as the real agent does: the
// entries belong to cwd, and now returns the time.
func (a *Agent) Record(projects, cwd string, now func() time.Time) {
	var mu sync.Mutex
	last := map[string]any{} // the UUID of the last entry, by session
	a.Said = func(session string, entry map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		line := map[string]any{
			"type": entry["type"], "uuid": entry["uuid"], "message": entry["message"], "parentUuid": last[session],
			"sessionId": session, "cwd": cwd, "timestamp": now().UTC().Format(time.RFC3339Nano), "version": "2.1.325",
			"isSidechain": false, "userType": "external",
		}
		last[session] = entry["uuid"]
		text, err := json.Marshal(line)
		if err != nil {
			panic(err) // it was a frame
		}
		path := filepath.Join(projects, "-project", session+".jsonl")
		if err := appendLine(path, text); err != nil {
			panic(err) // the test's directory is gone
		}
	}
}

func appendLine(path string, line []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		_ = file.Close() // the first error counts
		return err
	}
	return file.Close()
}
