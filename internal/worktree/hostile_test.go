//go:build unix

package worktree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/polltest"
)

// hang ends a test that hangs.

// A trap is a program that leaves a file when it runs.
type trap struct{ program, mark string }

func newTrap(t *testing.T) *trap {
	t.Helper()
	dir := t.TempDir()
	tr := &trap{program: filepath.Join(dir, "program"), mark: filepath.Join(dir, "it ran")}
	text := "#!/bin/sh\necho \"$0 $*\" >>'" + tr.mark + "'\ncat\nexit 0\n"
	if err := os.WriteFile(tr.program, []byte(text), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return tr
}

// command returns the program as a word of a shell: its path may have a space.
func (tr *trap) command() string { return "'" + tr.program + "'" }

// set puts the trap into all places of a repository from which git runs programs.
func (tr *trap) set(t *testing.T, repo string) {
	t.Helper()
	for _, hook := range []string{"post-checkout", "post-index-change", "pre-push", "post-commit", "reference-transaction", "pre-receive", "post-receive", "update", "pre-commit", "fsmonitor-watchman", "pre-auto-gc"} {
		path := filepath.Join(repo, ".git", "hooks", hook)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(tr.program, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range []string{
		"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external", "diff.evil.textconv", "diff.evil.command",
		"core.pager", "core.sshCommand", "credential.helper", "gpg.program", "core.editor", "core.alternateRefsCommand", "uploadpack.packObjectsHook",
		"remote.origin.uploadpack", "remote.origin.receivepack", "core.gitProxy", "merge.evil.driver",
	} {
		command := tr.command()
		if setting == "gpg.program" || setting == "core.gitProxy" { // the others are for a shell
			command = tr.program
		}
		gitIn(t, repo, "config", setting, command)
	}
	gitIn(t, repo, "config", "commit.gpgSign", "true")
	gitIn(t, repo, "config", "core.hooksPath", filepath.Join(repo, ".git", "hooks"))
}

// ran returns what the trap has caught, and sets it again.
func (tr *trap) ran(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(tr.mark)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err := errors.Join(err, os.Remove(tr.mark)); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const evilAttributes = "* filter=evil diff=evil merge=evil\n"

// TestAgentSettings has an agent that puts programs into the settings and hooks of its repository,
// of a submodule and of another repository inside. None may run outside of its sandbox.
func TestAgentSettings(t *testing.T) {
	t.Parallel()
	sub := newRepo(t, map[string]string{"s": "sub\n"})
	repo := newRepo(t, map[string]string{"a": "one\n", ".gitattributes": evilAttributes})
	gitIn(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	gitIn(t, repo, "commit", "-q", "-m", "a submodule")
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	gitIn(t, tree.Dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	gitIn(t, tree.Dir, "clone", "-q", sub, "nested")
	own := commitAll(t, tree.Dir, map[string]string{"b": "two\n"})

	tr := newTrap(t)
	tr.set(t, tree.Dir)
	tr.set(t, filepath.Join(tree.Dir, "nested"))
	for _, setting := range []string{"core.fsmonitor", "filter.evil.clean"} {
		gitIn(t, filepath.Join(tree.Dir, "sub"), "config", setting, tr.command())
	}
	tr.ran(t)
	write(t, tree.Dir, map[string]string{"a": "changed\n", "c": "three\n", "sub/s": "SUB\n", "sub/.gitattributes": evilAttributes})
	if _, err := gittest.Try(t, tree.Dir, "status"); err != nil {
		t.Log(err)
	}
	if tr.ran(t) == "" {
		t.Fatal("nothing runs for git status, so this test shows nothing")
	}

	s := snapshot(t, tree)
	patch(t, tree, s.Commit)
	data := bundle(t, tree, s.Commit)
	if err := tree.Push(t.Context(), s.Commit, "clew/a", ""); err != nil {
		t.Error(err)
	}
	add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "b", Snapshot: data})
	differ(t, "what ran", "", tr.ran(t))
	differ(t, "parent", own, gitIn(t, tree.repoDir(), "rev-parse", s.Commit+"^"))
	differ(t, "file", "changed", gitIn(t, tree.repoDir(), "cat-file", "blob", s.Commit+":a"))
	if err := tree.Remove(); err != nil {
		t.Error(err)
	}
	differ(t, "what ran at the end", "", tr.ran(t))
}

// TestHostileRepository has a repository of a stranger, on this machine.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	outside := t.TempDir()
	repo := newRepo(t, map[string]string{
		"-rf": "x\n", "--exec=evil": "x\n", "case": "lower\n", "CASE": "upper\n", ".gitattributes": evilAttributes,
		".gitmodules":  "[submodule \"s\"]\n\tpath = s\n\turl = ext::" + tr.program + "\n\tupdate = !" + tr.program + "\n",
		"hooks/update": "#!/bin/sh\n" + tr.program + "\n", "config": "[core]\n\tfsmonitor = " + tr.program + "\n", "HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "",
	})
	if err := os.Symlink(outside, filepath.Join(repo, "way")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, repo, "add", "way")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, repo, "rev-parse", "HEAD")+",s")
	gitIn(t, repo, "commit", "-q", "-m", "more")
	want := read(t, repo)
	tr.set(t, repo)
	tr.ran(t)

	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
	differ(t, "files", want, read(t, tree.Dir))
	differ(t, "nothing has changed", &Snapshot{Commit: tree.Base}, snapshot(t, tree))
	write(t, tree.Dir, map[string]string{"way/out": "through a link\n", "-rf": "y\n"})
	s := snapshot(t, tree)
	differ(t, "changed files", "-rf", gitIn(t, tree.repoDir(), "diff", "--name-only", tree.Base, s.Commit))
	if err := tree.Push(t.Context(), s.Commit, "clew/a", ""); err != nil {
		t.Error(err)
	}
	differ(t, "what ran", "", tr.ran(t))
	if err := tree.Remove(); err != nil {
		t.Error(err)
	}
	differ(t, "what a link leads to", map[string]string{"out": "through a link\n"}, read(t, outside))
}

// TestHostileNames has commits with names that git must not write.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "evil\n"})
	blob := gitIn(t, repo, "rev-parse", "HEAD:a")
	object := func(command, input string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{command}, args...)...)
		cmd.Dir, cmd.Stdin = repo, strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	r := newRoot(t)
	for i, name := range []string{".git", ".GIT", "git~1", "..", ".git\u200c"} {
		inner := object("mktree", "100644 blob "+blob+"\tconfig\n")
		outer := object("mktree", "040000 tree "+inner+"\t"+name+"\n")
		gitIn(t, repo, "update-ref", fmt.Sprintf("refs/heads/evil%d", i), gitIn(t, repo, "commit-tree", "-m", "evil", outer))
		if _, err := r.Add(t.Context(), &Request{Repo: repo, Ref: fmt.Sprintf("evil%d", i), Name: fmt.Sprint(i)}); err == nil {
			t.Errorf("%q was checked out", name)
		}
		differ(t, "left", false, exists(filepath.Join(r.trees(), fmt.Sprint(i))))
	}
}

// TestUserSettings has a user whose settings name hooks and filters. It is not parallel, since it
// sets variables.
func TestUserSettings(t *testing.T) {
	repo := newRepo(t, map[string]string{"a": "one\n", ".gitattributes": evilAttributes})
	tr := newTrap(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	hooks := filepath.Join(home, "hooks")
	for _, hook := range []string{"post-checkout", "pre-push", "reference-transaction", "post-index-change"} {
		if err := errors.Join(os.MkdirAll(hooks, 0o755), os.Symlink(tr.program, filepath.Join(hooks, hook))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, home, map[string]string{
		".gitconfig": "[core]\n\thooksPath = " + hooks + "\n\tautocrlf = true\n[filter \"evil\"]\n\tclean = " + tr.program + "\n\tsmudge = " + tr.program +
			"\n[apply]\n\twhitespace = fix\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = " + tr.program +
			"\n[url \"ext::" + tr.program + " \"]\n\tinsteadOf = https://evil.example/\n[url \"helper::\"]\n\tinsteadOf = https://odd.example/\n",
		"xdg/git/ignore":     "*.user\n",
		"xdg/git/attributes": "* text eol=crlf\n",
	})
	// As in a hook of git, which a worker may run below.
	t.Setenv("GIT_DIR", filepath.Join(home, "nowhere"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(home, "index"))
	t.Setenv("GIT_WORK_TREE", home)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", tr.program)

	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	differ(t, "files", map[string]string{"a": "one\n", ".gitattributes": evilAttributes}, read(t, tree.Dir))
	write(t, tree.Dir, map[string]string{"b.user": "kept \n"})
	s := snapshot(t, tree)
	if err := tree.Push(t.Context(), s.Commit, "clew/a", ""); err != nil {
		t.Error(err)
	}
	text := patch(t, tree, s.Commit)
	dir := t.TempDir()
	if err := Apply(t.Context(), dir, text, false); err != nil {
		t.Error(err)
	}
	// The user wants these ends of lines in the own directories.
	differ(t, "applied", map[string]string{"b.user": "kept \r\n"}, read(t, dir))
	for _, repo := range []string{"https://evil.example/x", "https://odd.example/x"} {
		if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "b"}); err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s, an address that runs a program: %v", repo, err)
		}
	}
	differ(t, "what ran", "", tr.ran(t))
}

// TestCredentialHelper fetches from a server that asks for a password, which is only in the user's
// settings.
func TestCredentialHelper(t *testing.T) {
	backend := filepath.Join(gitIn(t, "/", "--exec-path"), "git-http-backend")
	if !exists(backend) {
		t.Skipf("git comes without %s", backend)
	}
	repo := newRepo(t, map[string]string{"a": "one\n"})
	gitIn(t, repo, "config", "http.receivepack", "true")
	git := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}))
	defer server.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	for _, variable := range []string{"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(variable, "")
	}
	r := newRoot(t)
	req := &Request{Repo: server.URL + "/repo", Name: "a"}
	_, err := r.Add(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), "fetch "+server.URL+"/repo: git fetch: could not read Username") {
		t.Errorf("without a helper: %v", err)
	}
	write(t, home, map[string]string{
		".gitconfig":       "[credential]\n\thelper = store\n",
		".git-credentials": strings.Replace(server.URL, "://", "://user:s3cret@", 1) + "\n",
	})
	tree := add(t, r, req)
	differ(t, "files", map[string]string{"a": "one\n"}, read(t, tree.Dir))
	write(t, tree.Dir, map[string]string{"b": "two\n"})
	s := snapshot(t, tree)
	if err := tree.Push(t.Context(), s.Commit, "clew/a", ""); err != nil {
		t.Error(err)
	}
	differ(t, "pushed", s.Commit, gitIn(t, repo, "rev-parse", "refs/heads/clew/a"))
	err = filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("s3cret")) {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// fakeSSH makes ssh URLs lead to this machine. The program that git starts leaves the file started,
// waits for the file goOn, and then runs what it was asked for. It ignores SIGTERM.
func fakeSSH(t *testing.T) (started, goOn string) {
	t.Helper()
	dir := t.TempDir()
	started, goOn = filepath.Join(dir, "started"), filepath.Join(dir, "go on")
	program := filepath.Join(dir, "ssh")
	text := "#!/bin/sh\ntrap '' TERM\necho $$ >'" + started + ".new'; mv '" + started + ".new' '" + started + "'\n" +
		"while [ ! -e '" + goOn + "' ]; do sleep 0.05; [ -d '" + dir + "' ] || exit 1; done\nfor last; do :; done\neval \"$last\"\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH_COMMAND", "'"+program+"'")
	t.Setenv("GIT_SSH_VARIANT", "simple")
	return started, goOn
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	polltest.Until(t, what, holds)
}

// pid returns the process that left its ID in a file.
func pid(t *testing.T, path string) int {
	t.Helper()
	await(t, "the fetch starts", func() bool { return exists(path) })
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var id int
	if _, err := fmt.Sscan(string(data), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestCancelFetch(t *testing.T) {
	started, goOn := fakeSSH(t)
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	req := &Request{Repo: "ssh://git@host.example" + repo, Name: "a"}
	go func() {
		_, err := r.Add(ctx, req)
		failed <- err
	}()
	id := pid(t, started)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, "what git has started ends", func() bool { return !polltest.Running(id) })
	differ(t, "left", false, exists(filepath.Join(r.trees(), "a")))
	write(t, filepath.Dir(goOn), map[string]string{filepath.Base(goOn): ""})
	differ(t, "the next attempt", gitIn(t, repo, "rev-parse", "HEAD"), add(t, r, req).Base)
}

func startProcess(t *testing.T, root, repo string, names ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"add", root, repo}, names...)...) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	commit := gitIn(t, repo, "rev-parse", "HEAD")
	r := newRoot(t)
	want, got := map[string]bool{}, map[string]bool{}
	var outputs []*bufio.Scanner
	var processes []*exec.Cmd
	for i := range 3 {
		names := []string{fmt.Sprintf("p%d-a", i), fmt.Sprintf("p%d-b", i), fmt.Sprintf("p%d-c", i)}
		for _, name := range names {
			want[name+" "+commit+" <nil>"] = true
		}
		cmd, out := startProcess(t, r.dir, repo, names...)
		processes, outputs = append(processes, cmd), append(outputs, out)
	}
	for i, out := range outputs {
		for out.Scan() {
			got[out.Text()] = true
		}
		if err := processes[i].Wait(); err != nil {
			t.Error(err)
		}
	}
	differ(t, "trees", want, got)
	removed, err := r.Sweep(t.Context(), func(name string) bool { return strings.HasPrefix(name, "p0") })
	if err != nil {
		t.Error(err)
	}
	differ(t, "removed", []string{"p1-a", "p1-b", "p1-c", "p2-a", "p2-b", "p2-c"}, removed)
}

// TestKill kills a process while it fetches.
func TestKill(t *testing.T) {
	started, goOn := fakeSSH(t)
	repo := newRepo(t, map[string]string{"a": "one\n"})
	address := "ssh://git@host.example" + repo
	r := newRoot(t)
	cmd, _ := startProcess(t, r.dir, address, "a")
	id := pid(t, started)
	if removed, err := r.Sweep(t.Context(), func(string) bool { return false }); err != nil || len(removed) > 0 {
		t.Errorf("while it fetches: %v, %v", removed, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	removed, err := r.Sweep(t.Context(), func(string) bool { return true })
	if err != nil {
		t.Error(err)
	}
	differ(t, "removed", []string{"a"}, removed)
	write(t, filepath.Dir(goOn), map[string]string{filepath.Base(goOn): ""})
	await(t, "what git has started ends", func() bool { return !polltest.Running(id) })
	differ(t, "the next attempt", gitIn(t, repo, "rev-parse", "HEAD"), add(t, r, &Request{Repo: address, Name: "a"}).Base)
}
