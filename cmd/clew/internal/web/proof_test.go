package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
)

// A program that listens where a server was gets no token, and its answers don't count.
func TestImpostor(t *testing.T) {
	t.Parallel()
	var asked, told atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
		}
		_ = reply(w, map[string]string{"behavior": "allow", "code": "c", "token": "t", "proof": proofOf("", "n")})
	}))
	t.Cleanup(other.Close)
	running := &Running{URL: "http://127.0.0.1/", Address: other.Listener.Addr().String(), Token: newSecret(tokenSize), PID: os.Getpid()}
	answer, err := running.Ask(t.Context(), &HookQuestion{Session: unknownSession, Tool: "Bash"})
	if err == nil || answer.Behavior != "" {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
	if link, err := running.NewLink(t.Context()); err == nil {
		t.Errorf("the link is %s", link)
	}
	if _, err := running.Rotate(t.Context()); err == nil {
		t.Error("the token was replaced")
	}
	if asked.Load() != 3 || told.Load() > 0 {
		t.Errorf("%d requests, %d with the token", asked.Load(), told.Load())
	}
	dir := filepath.Join(t.TempDir(), "run")
	path, err := running.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := FindRunning(t.Context(), dir); len(found) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("something listens, and the file is gone: %v", err)
	}
}

// A directory that others can use is neither read nor written to.
func TestSharedRuntimeDir(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the directory of a user is not open to others")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o770); err != nil { //nolint:gosec // the test needs it
		t.Fatal(err)
	}
	if _, err := (&Running{PID: 1}).Write(dir); err == nil {
		t.Error("a file was written")
	}
	if _, err := FindRunning(t.Context(), dir); err == nil {
		t.Error("the directory was read")
	}
}
