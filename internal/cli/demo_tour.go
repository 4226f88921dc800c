package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/demo"
)

// A tour is a demo that is under way.
type tour struct {
	*demoOptions
	ctx         context.Context
	dir, config string
	err         error // of stdout
}

func (t *tour) print(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.streams.Out, text)
	}
}

// head shows a command as it would be typed.
func (t *tour) head(args ...string) error {
	t.pause(time.Second)
	line := "$ clew"
	for _, arg := range args {
		line += " " + quoteArg(arg)
	}
	if coloured(t.streams.Out) {
		line = "\x1b[1;36m" + line + "\x1b[0m"
	}
	t.print("\n" + line + "\n")
	t.pause(600 * time.Millisecond)
	switch {
	case t.ctx.Err() != nil:
		return errStopped()
	case t.err != nil:
		return outputError(t.err)
	}
	return nil
}

// quoteArg returns an argument as a shell takes it.
func quoteArg(arg string) string {
	switch {
	case strings.ContainsAny(arg, `"$\`+"`"):
		arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	case strings.ContainsAny(arg, " \t'()*?[]{}<>|&;#~!"):
		arg = `"` + arg + `"`
	}
	return printable(arg)
}

// pause gives time to read.
func (t *tour) pause(d time.Duration) {
	if t.fast {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// task has the agent do the task.
func (t *tour) task() error {
	if err := t.head("run", "--allowedTools", demo.Allowed, demo.Prompt); err != nil {
		return err
	}
	var err error
	outside := clewtest.Outside(t.ctx, func(tb testing.TB) {
		if t.real {
			err = t.realTask(tb)
		} else {
			err = t.playTask(tb)
		}
	})
	// What the simulation complains of is why the run failed, if it did.
	if err == nil && t.real {
		return outside
	}
	return err
}

func (t *tour) playTask(tb testing.TB) error {
	player := demo.NewPlayer(tb)
	opts := &clew.Options{Transport: player}
	if !t.fast {
		opts.Transport = demo.AtPace(player)
	}
	if err := t.converse(opts); err != nil {
		return err
	}
	return player.Recording().Lay(t.config, time.Now())
}

func (t *tour) realTask(tb testing.TB) error {
	work := filepath.Join(t.dir, "slug")
	if err := demo.Lay(work); err != nil {
		return err
	}
	model := clewtest.NewModel(tb)
	demo.Script(model, work, t.fast)
	opts := demo.Options(model, work, t.config)
	opts.AgentPath = t.agent
	err := t.converse(opts)
	var f *failure
	if errors.As(err, &f) && f.code == exitAgent {
		f.hint = "Install Claude Code (npm install -g @anthropic-ai/claude-code), name its binary with CLEW_AGENT,\n" +
			"or leave --real out."
	}
	return err
}

// converse is "clew run" with these options. Where stdout is no terminal, all of the tour goes there.
func (t *tour) converse(opts *clew.Options) error {
	streams := t.streams
	if !isTerminal(streams.Out) {
		streams.Err = streams.Out
	}
	scr := newScreen(streams)
	defer scr.close()
	opts.IncludePartialMessages = true
	asker := newAsker(t.ctx, streams, scr)
	opts.CanUseTool = asker.decide
	if t.yes || !isTerminal(streams.In) || !isTerminal(streams.Err) {
		opts.CanUseTool = t.sayYes(scr)
	}
	p := &textPrinter{screen: scr}
	err := explain(t.ctx, converse(t.ctx, conversation{prompt: demo.Prompt, opts: opts, printer: p, asker: asker}))
	scr.rest()
	return runFailure(t.ctx, errors.Join(p.finish(err), err))
}

// sayYes answers the question in place of the user, once that could have read it.
func (t *tour) sayYes(scr *screen) clew.CanUseToolFunc {
	return func(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
		scr.awaitTool(ctx, req.ToolUseID)
		scr.pause(true)
		defer scr.pause(false)
		scr.say(describe(req, coloured(scr.err)) + "Allow it? [y]es, once / [n]o: ")
		t.pause(2 * time.Second)
		scr.say("yes (says the demo)\n")
		return clew.Allow(), nil
	}
}

// steps are the commands that follow the task.
func (t *tour) steps() [][]string {
	page := filepath.Join(t.dir, "slug.html")
	return [][]string{
		{"ls", "--all"},
		{"show", "last"},
		{"search", "hyphen"},
		{"stats", "--all"},
		{"export", "last", "-o", page},
	}
}

// command runs one.
func (t *tour) command(args []string) error {
	if err := t.head(args...); err != nil {
		return err
	}
	root := newRoot(t.streams)
	root.PersistentPreRunE = nil // the settings of the user are not those of a tour
	if code := perform(t.ctx, root, args, t.streams); code != exitDone {
		return &failure{code: code, err: fmt.Errorf("clew %s has failed", args[0])}
	}
	t.pause(1500 * time.Millisecond)
	return nil
}

func (t *tour) farewell() string {
	setting := "CLAUDE_CONFIG_DIR=" + quoteArg(t.config) + " "
	if runtime.GOOS == "windows" {
		setting = `$env:CLAUDE_CONFIG_DIR = "` + t.config + `"; `
	}
	return "\nAll files are in " + printable(t.dir) + ". To go on:\n" +
		"  " + setting + "clew show last --expand\n" +
		"  " + setting + "clew show last --diff\n"
}
