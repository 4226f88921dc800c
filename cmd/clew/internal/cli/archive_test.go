package cli

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/nats-io/nats-server/v2/server"
)

// TestArchiveNATS saves to a NATS server, reads from it and restores from it. Its password needs to be
// encoded in a URL, and appears nowhere.
func TestArchiveNATS(t *testing.T) {
	const password = "hunter2/%"
	address := startNATS(t, "me", password)
	dir := t.TempDir()
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LocalAppData"} {
		t.Setenv(name, filepath.Join(dir, name))
	}
	t.Setenv("CLEW_ARCHIVE", "")
	t.Setenv("CLEW_MACHINE", "laptop")
	const id = "00000000-0000-4000-8000-000000000001"
	const text = `{"type":"user","uuid":"1","sessionId":"` + id + `","cwd":"/home/me","message":{"role":"user","content":"Fix the bug"},` +
		`"timestamp":"2026-01-02T03:04:05Z"}` + "\n"
	path := filepath.Join(dir, "CLAUDE_CONFIG_DIR", "projects", "-home-me", id+".jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	to := (&url.URL{Scheme: "nats", User: url.UserPassword("me", password), Host: address}).String()
	run := func(want int, part string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := Main(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		all := out.String() + errs.String()
		if code != want || !strings.Contains(all, part) || strings.Contains(all, "hunter2") {
			t.Fatalf("%v: code %d, output\n%s", args, code, all)
		}
	}
	run(clikit.ExitInput, "there is no archive in nats://"+address, "ls", "--all", "--from", to)
	run(0, "Would save 1 new session", "archive", "--dry-run", "--to", to)
	run(clikit.ExitInput, "there is no archive in nats://"+address, "archive", "--status", "--to", to)
	run(0, "Saved 1 new session and 0 changed of 1 as laptop in nats://"+address, "archive", "--to", to)
	run(0, "Verified nats://"+address+": 1 session with 1 file", "archive", "--verify", "--to", to)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	run(0, "Fix the bug", "ls", "--all", "--from", to)
	run(0, "Restored session "+id+" of laptop: 1 file", "restore", id[:13], "--from", to)
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("got %q, %v", data, err)
	}
	wrong := strings.Replace(to, "hunter2", "hunter22", 1)
	run(clikit.ExitInput, "connect to "+address, "archive", "--to", wrong)
}

// TestCacheOf checks that each archive and each set of agents' directories has a separate cache:
// the unpacked sessions depend on both.
func TestCacheOf(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LocalAppData", t.TempDir())
	found := map[string]bool{}
	for _, live := range [][]string{nil, {"/a"}, {"/b"}, {"/a", "/b"}, {"/a/b"}} {
		for _, name := range []string{"/one", "/two"} {
			dir, err := cacheOf(name, live)
			if err != nil || found[dir] {
				t.Errorf("%s with %q: got %s, %v", name, live, dir, err)
			}
			found[dir] = true
		}
	}
}

// startNATS starts a server with a user, which ends with the test, and returns its address.
func startNATS(t *testing.T, user, password string) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Username: user, Password: password, AuthTimeout: 300,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("the server does not start")
	}
	return s.Addr().String()
}

// A watcher ends when nobody reads its output.
func TestArchiveWatchIntoAClosedPipe(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	project := makeDir(t, filepath.Join(dir, "projects", "-work"))
	line := `{"type":"user","uuid":"u","message":{"role":"user","content":"Hi"}}` + "\n"
	if err := os.WriteFile(filepath.Join(project, "4f1c0000-0000-4000-8000-000000000001.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE })
	var errs bytes.Buffer
	args := []string{"archive", "--watch", "--to", filepath.Join(t.TempDir(), "kept")}
	if code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: closed, Err: &errs}); code != clikit.ExitDone {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}
