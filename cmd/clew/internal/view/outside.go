package view

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

const (
	maxExported = 1 << 30  // bytes of a transcript that is exported
	maxImage    = 5 << 20  // bytes of an image in a page
	maxImages   = 64 << 20 // bytes of all images
)

// fileOptions returns the location of a session by the path of its transcript, which need not be
// one of the agent's own files.
func fileOptions(info *sessions.SessionInfo) *sessions.Options {
	project := filepath.Dir(info.Path)
	return &sessions.Options{Store: sessions.NewFolder(filepath.Dir(project)), ProjectName: filepath.Base(project)}
}

// document reads a session into a document.
func (s *Source) document(ctx context.Context, info *sessions.SessionInfo) (*export.Document, error) {
	if info.Size > maxExported {
		return nil, errors.New("the transcript is too large to be read into memory")
	}
	t, err := sessions.ReadFile(ctx, info.Path, nil)
	if t == nil {
		return nil, err
	}
	opts := &export.Options{Branches: true, Release: true}
	if session, err := s.open(ctx, info); err == nil {
		opts.Images = Images(func(agent string, at wire.Position) (transcript.Entry, error) { return session.Entry(ctx, agent, at) }, false)
	}
	return export.New(t, opts), ctx.Err()
}

// Images returns a function that reads the images of a call, for a document. entry reads an entry again. Unless all is set,
// images are left out when there are more than a page should have.
func Images(entry func(agent string, at wire.Position) (transcript.Entry, error), all bool) func(string, *transcript.DisplayItem) []transcript.Image {
	left := maxImages
	return func(agent string, item *transcript.DisplayItem) []transcript.Image {
		e, err := entry(agent, item.ResultAt)
		if err != nil {
			return nil
		}
		found := export.ImagesIn(&e, item.ToolID, maxImage)
		for _, image := range found {
			if left -= len(image.Data); left < 0 && !all {
				return nil
			}
		}
		return found
	}
}

// Document returns a session as it is exported, with its secrets redacted unless whole is set.
func (s *Source) Document(ctx context.Context, info sessions.SessionInfo, whole bool) (*export.Document, error) {
	doc, err := s.document(ctx, &info)
	if err != nil {
		return nil, err
	}
	if !whole {
		home, _ := os.UserHomeDir() // without one, there is no path to remove
		export.Redact(doc, &redact.Redactor{Home: home})
	}
	return doc, nil
}

// Export writes a page with the session to the working directory, with its secrets redacted. If
// show is set, the page is as it is, in a private directory, where it stays for at least a day, and
// a browser opens it.
func (s *Source) Export(ctx context.Context, info sessions.SessionInfo, show bool) (string, error) {
	doc, err := s.Document(ctx, info, show)
	if err != nil {
		return "", err
	}
	dir := s.opts.Dir
	if show {
		if dir, err = pagesDir(time.Now()); err != nil {
			return "", err
		}
	}
	path, err := writeNew(dir, ExportName(info.ID), func(w io.Writer) error {
		return export.Write(ctx, w, doc, export.HTML, &export.View{Thinking: true})
	})
	if err != nil || !show {
		return path, err
	}
	return path, Browse(ctx, path)
}

// pageAge is the age at which a page opened in a browser is removed.
const pageAge = 24 * time.Hour

// pagesDir returns the directory of the pages that a browser opens, which only the user can read.
// Old pages are removed.
func pagesDir(now time.Time) (string, error) {
	dir, err := CachePath("pages")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		return "", err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, page := range pages {
		info, err := page.Info()
		if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < pageAge {
			continue
		}
		if err := os.Remove(filepath.Join(dir, page.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return dir, nil
}

// ExportName returns the name of the file to which a session is exported, without its ending.
func ExportName(id string) string {
	letters := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, id)
	return "clew-" + cmp.Or(letters[:min(len(letters), 8)], "session")
}

// writeNew writes a file that only the user can read, under a name that no other file has.
func writeNew(dir, name string, write func(io.Writer) error) (path string, err error) {
	const most = 1000
	for n := 1; n < most; n++ {
		path = filepath.Join(dir, name+".html")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.html", name, n))
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := errors.Join(write(file), file.Close()); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
	return "", fmt.Errorf("there are %d files named like %s", most, path)
}

// Browse opens a page in the user's browser, and does not wait for the browser.
func Browse(ctx context.Context, path string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("no browser was found; the page is %s", path)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], path)...) //nolint:gosec // a file of ours
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it says nothing about the browser
	return nil
}

// Markdown returns a session as Markdown, or the part of it that some lines of the transcript are.
func (s *Source) Markdown(ctx context.Context, info sessions.SessionInfo, lines []int) (string, error) {
	var doc *export.Document
	var err error
	if len(lines) == 0 {
		doc, err = s.document(ctx, &info)
	} else {
		doc, err = partOf(ctx, info.Path, lines)
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = export.Write(ctx, &b, doc, export.Markdown, &export.View{Thinking: true, Full: true})
	text := b.String()
	if _, body, ok := strings.Cut(text, "\n## "); ok && len(lines) > 0 {
		text = "## " + body // without the facts about the session
	}
	return text, err
}

// partOf makes a document of some lines of a transcript.
func partOf(ctx context.Context, path string, lines []int) (*export.Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines = slices.Sorted(slices.Values(lines))
	var part bytes.Buffer
	r := bufio.NewReaderSize(file, 1<<20)
	for n := 1; len(lines) > 0 && ctx.Err() == nil; n++ {
		line, err := r.ReadBytes('\n')
		if n == lines[0] {
			part.Write(line)
			lines = slices.DeleteFunc(lines, func(m int) bool { return m == n })
		}
		if err != nil {
			break // the rest of the lines is not there
		}
	}
	t, err := transcript.Read(&part, nil)
	if err != nil {
		return nil, err
	}
	return export.New(t, nil), ctx.Err()
}

// Command returns a program that takes over the terminal.
func (s *Source) Command(job Program) (Runner, error) {
	var cmd *exec.Cmd
	var done func() error
	var err error
	switch job.Kind {
	case ShowText:
		cmd, done, err = showCommand(job)
	case ResumeAgent:
		cmd, err = s.agentCommand(job)
	case ContinueChat:
		cmd, err = chatCommand(job)
	case ForkChat:
		cmd, err = chatCommand(job, "--fork-session")
	default:
		err = fmt.Errorf("unknown job %q", job.Kind)
	}
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.opts.In, s.opts.Out, s.opts.Err
	return &program{cmd: cmd, handOver: s.opts.HandOver, done: done}, nil
}

// A program is a command that has the terminal for a while.
type program struct {
	cmd      *exec.Cmd
	handOver func() (back func())
	done     func() error // nil if there is nothing to clean up
}

// Run runs the command.
func (p *program) Run() error {
	if p.handOver != nil {
		defer p.handOver()()
	}
	err := p.cmd.Run()
	if p.done != nil {
		err = errors.Join(err, p.done())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s ended with code %d", filepath.Base(p.cmd.Path), exit.ExitCode())
	}
	return err
}

// agentCommand resumes a session with the agent itself.
func (s *Source) agentCommand(job Program) (*exec.Cmd, error) {
	path, err := clew.FindAgent(s.opts.AgentPath)
	if err != nil {
		return nil, err
	}
	cmd, err := inDirectory(job, path, "--resume", job.Info.ID)
	if err != nil {
		return nil, err
	}
	cmd.Env = s.opts.AgentEnv
	if config := sessions.OtherConfigDir(job.Info.Path); config != "" {
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(slices.Clip(cmd.Env), "CLAUDE_CONFIG_DIR="+config) // the last one counts
	}
	return cmd, nil
}

// chatCommand resumes a session in the chat of this program.
func chatCommand(job Program, flags ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return inDirectory(job, path, append([]string{"chat", "--resume", job.Info.ID}, flags...)...)
}

// inDirectory returns a command in the directory of a session.
func inDirectory(job Program, path string, args ...string) (*exec.Cmd, error) {
	if !newid.IsUUID(job.Info.ID) { // the name of another file could be taken for a flag
		return nil, errors.New("this file is not a session of the agent, so it can't be resumed")
	}
	if _, ok := sessions.FromArchive(job.Info.Path); ok {
		return nil, fmt.Errorf("this session is only in the archive: run \"clew restore %s\" first", job.Info.ID)
	}
	cmd := exec.CommandContext(context.Background(), path, args...) //nolint:gosec // the agent, or this program
	if dir := job.Info.CWD; dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the directory of the session is gone: %s", dir)
		}
		cmd.Dir = dir
	}
	return cmd, nil
}

// showCommand shows a text in the user's editor or pager. The text is in a private file until that
// program ends.
func showCommand(job Program) (cmd *exec.Cmd, done func() error, err error) {
	dir, err := os.MkdirTemp("", "clew-show-")
	if err != nil {
		return nil, nil, err
	}
	done = func() error { return os.RemoveAll(dir) }
	name := filepath.Base(filepath.Clean("/" + job.Name))
	if os.IsPathSeparator(name[0]) {
		name = "text"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(job.Text), 0o600); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	// It ends when the user leaves it.
	return onFile(context.Background(), userProgram(os.LookupEnv, "less", "VISUAL", "EDITOR", "PAGER"), path), done, nil
}

// Editor returns a command with which the user edits a file: $VISUAL or $EDITOR, which may have
// arguments and quotes.
func Editor(ctx context.Context, path string) *exec.Cmd {
	return onFile(ctx, userProgram(os.LookupEnv, "vi", "VISUAL", "EDITOR"), path)
}

// onFile returns the command that runs a program of the user with a file as its last argument. The
// shell takes the program and its arguments apart; Windows has none that programs agree on.
func onFile(ctx context.Context, program, path string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(quotedWords(program), path)
		return exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user's own variable
	}
	return exec.CommandContext(ctx, "sh", "-c", program+` "$1"`, "sh", path) //nolint:gosec // the user's own variable
}

// quotedWords takes a command apart at the blanks that are not between double quotes.
func quotedWords(command string) []string {
	isQuoted := false
	words := strings.FieldsFunc(command, func(r rune) bool {
		if r == '"' {
			isQuoted = !isQuoted
		}
		return !isQuoted && unicode.IsSpace(r)
	})
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `"`, "")
	}
	return words
}

// userProgram returns the command in the first of those variables that has one. Without one, it is
// notepad on Windows, and otherwise standard.
func userProgram(lookup func(string) (string, bool), standard string, variables ...string) string {
	for _, name := range variables {
		if command, ok := lookup(name); ok && strings.Trim(command, "\" \t\r\n") != "" && command != "cat" {
			return command
		}
	}
	if runtime.GOOS == "windows" {
		return "notepad"
	}
	return standard
}
