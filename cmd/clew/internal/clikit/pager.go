package clikit

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
)

// A Pager is the program that shows long output on a terminal, page by page. It is taken from
// CLEW_PAGER, or else from PAGER, or else is less. It starts with the first write, so that an error
// needs no page.
type Pager struct {
	streams Streams
	cmd     *exec.Cmd
	pipe    io.WriteCloser
	failed  bool // it did not start: the output goes to the terminal itself
}

// NewPager returns a pager for a command's output, or nil if the output is not for a person to page
// through.
func NewPager(s Streams) *Pager {
	if !Redraws(s.Out) || pagerCommand() == "" {
		return nil
	}
	return &Pager{streams: s}
}

// pagerCommand returns the pager's command, or "" for none. The value "cat" means none, as it does
// to other programs.
func pagerCommand() string {
	for _, name := range []string{"CLEW_PAGER", "PAGER"} {
		if command, ok := os.LookupEnv(name); ok {
			if command = strings.TrimSpace(command); command == "cat" {
				return ""
			}
			return command
		}
	}
	if runtime.GOOS == "windows" {
		return ""
	}
	return "less"
}

// Write writes to the pager, or to the terminal if there is none.
func (p *Pager) Write(text []byte) (int, error) {
	if p.pipe == nil && !p.failed {
		p.start()
	}
	if p.failed {
		return p.streams.Out.Write(text)
	}
	return p.pipe.Write(text)
}

// start starts the pager. Once it runs, an interrupt is for the pager alone: it ends when the
// reader quits it.
func (p *Pager) start() {
	p.failed = true
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	// It ends when its reader leaves it, and not with the command.
	cmd := exec.CommandContext(context.Background(), shell[0], shell[1], pagerCommand()) //nolint:gosec // the user's own variable
	cmd.Stdout, cmd.Stderr = p.streams.Out, p.streams.Err
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"), "LV="+cmp.Or(os.Getenv("LV"), "-c"))
	pipe, err := cmd.StdinPipe()
	if err != nil || missing(pagerCommand()) || cmd.Start() != nil {
		return
	}
	signal.Ignore(os.Interrupt)
	p.cmd, p.pipe, p.failed = cmd, pipe, false
}

// missing reports whether the program of a command can't be found.
func missing(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	_, err := exec.LookPath(program)
	return err != nil
}

// Close waits until the reader leaves the pager.
func (p *Pager) Close() {
	if p == nil || p.pipe == nil {
		return
	}
	_ = p.pipe.Close() // the pager may be gone
	_ = p.cmd.Wait()   // its exit code says nothing about the output
}
