package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/hookedit"
	"github.com/clewdev/clew/cmd/clew/internal/web"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
	agentsettings "github.com/clewdev/clew/settings"
	"github.com/clewdev/clew/wire"
)

// "clew hook permission" is a PermissionRequest hook, which passes the question on to the pages of
// a server. Its answers were tried with Claude Code 2.1.325 over a scripted model, in a terminal,
// with -p, and with --bg.
//
//	the hook                             terminal            -p              --bg
//	allows Bash or Write                 runs                runs            runs
//	denies Bash                          model gets message  same            same
//	prints nothing, or is cut off        dialog stays        denied (1)      waits, with dialog
//	allows a plan (ExitPlanMode)         dialog stays (2)    no such tool    waits (2)
//	allows a plan with updatedInput      approved            no such tool    not tried
//	denies a plan                        model gets message  no such tool    same
//	allows AskUserQuestion               dialog stays (2)    no such tool    waits (2)
//	allows it, answers in updatedInput   answered            no such tool    answered
//	denies it                            model gets message  no such tool    same
//
// (1) as without a hook; (2) the answer is ignored.
//
// In a terminal the dialog is there while the hook runs, and the first answer counts: an answer at
// the terminal ends the hook's process, so that its question leaves the pages, and the hook's
// answer closes the dialog. Each question ran the hook once. So decisions about tools are reliable,
// and the hook passes on only those; it leaves plans and choices to the terminal. Without a server
// with --drive, an open page or an answer it prints nothing, and the agent asks as ever.

type hookOptions struct {
	streams Streams
	settingsChange
}

// A settingsChange are the flags of commands that change the agent's settings.
type settingsChange struct{ install, remove, yes bool }

func (c *settingsChange) addFlags(cmd *cobra.Command, what string) {
	clikit.AddOnOff(cmd, &c.install, "install", "add "+what+" to your settings.json")
	clikit.AddOnOff(cmd, &c.remove, "remove", "remove "+what+" from your settings.json")
	clikit.AddOnOff(cmd, &c.yes, "yes", "do not ask before the file is changed")
}

// wanted reports whether the settings are to be changed.
func (c *settingsChange) wanted() (bool, error) {
	return c.install || c.remove, clikit.AtMostOne([]clikit.GivenFlag{{Name: "install", On: c.install}, {Name: "remove", On: c.remove}})
}

const hookHelp = `Answer permission questions of Claude Code on the pages of "clew serve --drive", even
for sessions that were started elsewhere: in a terminal, with claude -p, or in the
background.

"clew hook permission --install" adds a PermissionRequest hook to your settings.json,
and --remove removes it. Both show what they change, and ask before they do it.

Claude Code runs the hook when it is about to ask you. The terminal asks at the same
time, and the first answer counts. If no server runs with --drive, if no page is open,
or if nobody answers within 100 seconds, the hook does not decide. Plans and questions
with choices appear only on the terminal. A page can allow a call once, or deny it.`

func newHook(s Streams) *cobra.Command {
	hook := &cobra.Command{
		Use: "hook", Short: "Answer questions of Claude Code that runs elsewhere", Args: clikit.NoSuchCommand, RunE: clikit.PrintHelp,
		Long:    "Hooks that Claude Code runs. Its settings name them.",
		Example: "  clew hook permission --install --yes",
	}
	o := &hookOptions{streams: s}
	permission := &cobra.Command{
		Use: "permission", Short: "Ask for permissions on the pages of clew serve", Long: hookHelp,
		Example: `  clew hook permission --install --yes
  clew hook permission --remove --yes`,
		Args: clikit.AtMost(0), RunE: clikit.RunE(o.run),
	}
	o.addFlags(permission, "the hook")
	hook.AddCommand(permission)
	return hook
}

func (o *hookOptions) run(ctx context.Context, _ []string) error {
	change, err := o.wanted()
	if err != nil {
		return err
	}
	if change {
		return o.change(ctx)
	}
	if clikit.IsTerminal(o.streams.In) {
		return clikit.UsageError("Claude Code runs this hook; stdin is a terminal", `Run "clew hook permission --install" to install it.`)
	}
	return o.answer(ctx)
}

// hookTimeout is the time for which Claude Code waits for the hook.
const hookTimeout = web.HookWait + 10*time.Second

// permissionHook returns the hook with this program.
func permissionHook() (hookedit.Hook, error) {
	program, err := quotedProgram()
	return hookedit.Hook{Event: "PermissionRequest", Command: program + " hook permission", Timeout: int(hookTimeout.Seconds())}, err
}

// executable returns the path of this program.
var executable = os.Executable

// quotedProgram returns the path of this program as a shell reads it.
func quotedProgram() (string, error) {
	program, err := executable()
	return tty.ShellWord(program), err
}

// change installs or removes the hook.
func (o *hookOptions) change(ctx context.Context) error {
	path, before, err := readUserSettings()
	if err != nil {
		return err
	}
	hook, err := permissionHook()
	if err != nil {
		return err
	}
	edit, verb, done := hookedit.Add, "adds", "The hook is installed already."
	if o.remove {
		edit, verb, done = hookedit.Remove, "removes", "The hook is not installed."
	}
	after, err := edit(before, hook)
	if err != nil {
		return invalidSettings(path, err)
	}
	if after == before {
		return say(o.streams, done)
	}
	what := fmt.Sprintf("This %s a %s hook in %s:\n  %s\n", verb, hook.Event, clikit.Printable(path), clikit.Printable(hook.Command))
	if yes, err := o.confirm(ctx, o.streams, what); err != nil || !yes {
		return err
	}
	if err := replaceSettings(path, before, after); err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	return say(o.streams, "Done. It counts for sessions that are started from now on.")
}

func invalidSettings(path string, err error) error {
	return &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("%s: %w", clikit.Printable(path), err), Hint: "Nothing was changed. Edit the file yourself."}
}

func say(s Streams, text string) error {
	if _, err := fmt.Fprintln(s.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// confirm shows what would change, and asks whether to do it.
func (c *settingsChange) confirm(ctx context.Context, s Streams, what string) (bool, error) {
	if c.yes {
		_, err := io.WriteString(s.Out, what)
		return err == nil, err
	}
	yes, err := agentcli.AskYes(ctx, s, what, "Change the file? [y]es / [N]o: ")
	if err != nil {
		return false, clikit.UsageError("nobody can be asked: "+err.Error(), what+"Give --yes to do it without a question.")
	}
	return yes, nil
}

// readUserSettings returns the path and the text of the user's settings for the agent.
func readUserSettings() (path, text string, err error) {
	dir, err := agentsettings.Dir()
	if err != nil {
		return "", "", unreadSettings(err)
	}
	path = filepath.Join(dir, agentsettings.FileName)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", unreadSettings(err)
	}
	return path, string(data), nil
}

func unreadSettings(err error) error {
	return &clikit.Failure{
		Code: clikit.ExitInput, Err: fmt.Errorf("your settings.json can't be read: %s", clikit.Printable(err.Error())),
		Hint: "Set HOME, or CLAUDE_CONFIG_DIR to the directory that has it.",
	}
}

// replaceSettings replaces the settings as a whole, and keeps their mode. If they differ from
// before, it returns an error: the agent may have changed them during the question. A change is
// lost only if it comes between the comparison and the replacement.
func replaceSettings(path, before, after string) error {
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(now) != before {
		return fmt.Errorf("%s has changed in the meantime, and stays as it is; try again", path)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Write(path, []byte(after), files.WriteOptions{Mode: mode})
}

// maxHookInput limits the hook's input.
const maxHookInput = 8 << 20

// answer passes a question on to the pages, and prints the answer. On any failure it prints
// nothing: the agent asks as it would without the hook.
func (o *hookOptions) answer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout-time.Second)
	defer cancel()
	data, err := io.ReadAll(io.LimitReader(o.streams.In, maxHookInput))
	var input struct {
		Session string    `json:"session_id"`
		Dir     string    `json:"cwd"`
		Tool    string    `json:"tool_name"`
		Input   wire.JSON `json:"tool_input"`
		Agent   string    `json:"agent_id"`
	}
	if err != nil || json.Unmarshal(data, &input) != nil || input.Tool == "AskUserQuestion" || input.Tool == "ExitPlanMode" {
		return nil // the agent asks
	}
	question := &web.HookQuestion{Session: input.Session, Dir: input.Dir, Tool: input.Tool, Input: input.Input, Subagent: input.Agent}
	answer := askServers(ctx, question)
	if answer == nil {
		return nil
	}
	line, err := hookAnswer(answer)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.streams.Out, line); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// askServers asks the servers of this user, one after the other, until one has an answer.
func askServers(ctx context.Context, q *web.HookQuestion) *web.HookAnswer {
	dir, err := runtimeDir()
	if err != nil {
		return nil
	}
	servers, err := web.FindRunning(ctx, dir)
	if err != nil {
		return nil
	}
	for _, server := range servers {
		if answer, err := server.Ask(ctx, q); err == nil && answer.Behavior != "" {
			return answer
		}
	}
	return nil
}

// hookAnswer returns an answer in the form that the agent reads.
func hookAnswer(a *web.HookAnswer) (wire.JSON, error) {
	out := &hook.PermissionRequestOutput{Decision: permission.Deny(a.Message)}
	if a.Behavior == permission.BehaviorAllow {
		out.Decision = permission.Allow()
	}
	return (&hook.Output{Specific: out}).Encode(hook.PermissionRequest)
}
