package agentcli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/cmd/clew/internal/prompts"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

// A chatCommand is a clew chat command.
type chatCommand struct {
	name string
	hint string // the arguments
	note string
	run  func(c *chat, ctx context.Context, argument string) error
}

// chatCommands is a function because /help lists the commands.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"context", "", "show what the context contains", (*chat).showContext},
		{"cost", "", "show the cost of the session", (*chat).showCost},
		{"exit", "", "end the chat", func(*chat, context.Context, string) error { return io.EOF }},
		{"help", "", "list the commands", (*chat).showHelp},
		{"mode", "[MODE]", "show or change the permission mode", (*chat).setMode},
		{"model", "[MODEL]", "show or change the model", (*chat).setModel},
	}
}

// ownCommand returns the clew chat command in a text, if there is one.
func (c *chat) ownCommand(text string) (command func(context.Context) error, ok bool) {
	name, argument := commandIn(text)
	for _, own := range chatCommands() {
		if own.name == name {
			return func(ctx context.Context) error { return own.run(c, ctx, argument) }, true
		}
	}
	return nil, false
}

var commandName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/([A-Za-z][A-Za-z0-9_:.-]*)(?:\s|$)`)
})

// commandIn returns the name of the command at the start of a text, and its argument. The name is
// "" if the text is a prompt: a path has another slash, and a space before the slash makes any text
// a prompt.
func commandIn(text string) (name, argument string) {
	match := commandName().FindStringSubmatch(text)
	if match == nil {
		return "", ""
	}
	return match[1], strings.TrimSpace(text[len(match[0]):])
}

// unknownCommand returns a message about a text that starts with a command unknown to both clew
// chat and the agent, or "". If the agent does not list its commands, it gets every command that
// does not resemble one of ours.
func (c *chat) unknownCommand(text string) string {
	name, _ := commandIn(text)
	if name == "" {
		return ""
	}
	var names []string
	for _, own := range chatCommands() {
		names = append(names, own.name)
	}
	commands, _ := c.status.known()
	for _, command := range commands {
		names = append(append(names, command.Name), command.Aliases...)
	}
	near := config.Nearest(name, names)
	if slices.Contains(names, name) || near == "" && len(commands) == 0 {
		return ""
	}
	problem := "unknown command /" + name
	if near != "" {
		problem += "; did you mean /" + near + "?"
	}
	return problem + "\n/help lists the commands. To send the text as a prompt, begin it with a space."
}

// refuse reports a text that was not sent. It is a failed turn, unless the user can edit the text.
func (c *chat) refuse(problem string) {
	c.screen.say(tty.CleanExactly(problem) + "\n")
	c.turns++
	c.failed++
}

func isOwn(name string) bool {
	return slices.ContainsFunc(chatCommands(), func(own chatCommand) bool { return own.name == name })
}

// commandLimit is the time for which a command waits for the agent.
const commandLimit = time.Minute

// ask runs a request that the user waits for and may interrupt. It prints a refusal; only the end
// of the session is an error.
func (c *chat) ask(ctx context.Context, do func(context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	over := c.user.onInterrupt(cancel)
	defer over()
	c.screen.busy("waiting")
	err := do(waiting)
	c.screen.idle()
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case c.session.Err() != nil:
		return c.session.Err()
	case waiting.Err() != nil:
		c.screen.note("the agent did not answer")
	default:
		c.screen.say(tty.CleanExactly(reason(ctx, err)) + "\n")
	}
	return nil
}

// print writes text of several lines to stdout.
func (c *chat) print(text string) error {
	if err := c.screen.write(tty.CleanExactly(strings.TrimRight(text, "\n")) + "\n"); err != nil {
		return &clikit.WriteError{Err: err}
	}
	return nil
}

func (c *chat) setModel(ctx context.Context, name string) error {
	if name == "" {
		return c.print(orUnknown(c.status.currentModel()))
	}
	return c.ask(ctx, func(ctx context.Context) error {
		model, err := c.session.SetModel(ctx, name)
		if err == nil {
			model = cmp.Or(model, name)
			c.status.change(func() { c.status.model = model })
			c.user.showStatus(&c.status)
			c.screen.note("the model is now " + model)
		}
		return err
	})
}

func (c *chat) setMode(ctx context.Context, name string) error {
	if name == "" {
		return c.print(orUnknown(string(c.status.permissionMode())))
	}
	return c.ask(ctx, func(ctx context.Context) error {
		err := c.setPermissionMode(ctx, c.session, wire.PermissionMode(name))
		if err == nil {
			c.screen.note("the permission mode is now " + name)
		}
		return err
	})
}

// changeMode changes the permission mode, at any time.
func (c *chat) changeMode(mode wire.PermissionMode) {
	session := c.connected()
	if session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, commandLimit)
	defer cancel()
	if err := c.setPermissionMode(ctx, session, mode); err != nil {
		c.screen.say(tty.CleanExactly(reason(ctx, err)) + "\n")
	}
}

// setPermissionMode changes the permission mode and the status. Each change waits for the one before,
// so that the status has the last one that the agent made.
func (c *chat) setPermissionMode(ctx context.Context, session *clew.Session, mode wire.PermissionMode) error {
	select {
	case c.setting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.setting }()
	if err := session.SetPermissionMode(ctx, mode); err != nil {
		return err
	}
	c.status.change(func() { c.status.mode = mode })
	c.user.showStatus(&c.status)
	return nil
}

func orUnknown(text string) string { return cmp.Or(text, "not known yet") }

func (c *chat) showCost(ctx context.Context, _ string) error {
	var text string
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		text, err = screens.CostText(ctx, c.session)
		return err
	})
	if err != nil || text == "" {
		return err
	}
	return c.print(text)
}

func (c *chat) showContext(ctx context.Context, _ string) error {
	var text strings.Builder
	err := c.ask(ctx, func(ctx context.Context) error {
		report, err := screens.Context(ctx, c.session, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s of %s tokens, %s\n",
			wording.Number(report.TotalTokens), wording.Number(report.MaxTokens), wording.Percent(report.Percentage))
		for _, part := range report.Categories {
			fmt.Fprintf(&text, "%10s  %s\n", wording.Number(part.Tokens), tty.Line(part.Name))
		}
		return nil
	})
	if err != nil || text.Len() == 0 {
		return err
	}
	return c.print(text.String())
}

func (c *chat) showHelp(context.Context, string) error {
	var text strings.Builder
	text.WriteString("Commands of clew chat:\n")
	for _, own := range chatCommands() {
		fmt.Fprintf(&text, "  /%-15s %s\n", strings.TrimSpace(own.name+" "+own.hint), own.note)
	}
	var hidden, others []string
	commands, _ := c.status.known()
	for _, command := range commands {
		if name := "/" + tty.Line(command.Name); isOwn(command.Name) {
			hidden = append(hidden, name)
		} else {
			others = append(others, name)
		}
	}
	slices.Sort(hidden)
	slices.Sort(others)
	width := c.screen.width
	if width == 0 {
		width = clikit.TextWidth(nil, 80)
	}
	if len(hidden) > 0 {
		fmt.Fprintf(&text, "They replace these commands of the agent: %s\n", strings.Join(hidden, ", "))
	}
	if len(others) > 0 {
		text.WriteString("Commands of the agent:\n")
		for _, line := range tty.Wrap(strings.Join(others, " "), max(width-3, 10)) {
			text.WriteString("  " + line + "\n")
		}
	}
	return c.print(text.String())
}

// argumentChoices returns the arguments of a command.
func (c *chat) argumentChoices(command string) []compose.Choice {
	var choices []compose.Choice
	switch command {
	case "/model":
		_, models := c.status.known()
		for _, m := range models {
			choices = append(choices, compose.Choice{Text: m.Value, Note: m.DisplayName, Complete: true})
		}
	case "/mode":
		for _, mode := range permissionModes {
			choices = append(choices, compose.Choice{Text: string(mode), Complete: true})
		}
	}
	return choices
}

var permissionModes = []wire.PermissionMode{
	wire.PermissionModeAcceptEdits, wire.PermissionModeAuto, wire.PermissionModeBypassPermissions,
	wire.PermissionModeDefault, wire.PermissionModeDontAsk, wire.PermissionModePlan,
}

// commandChoices returns the commands of clew chat, followed by the agent's commands.
func (c *chat) commandChoices() []compose.Choice {
	var all []compose.Choice
	for _, own := range chatCommands() {
		all = append(all, compose.Choice{Text: "/" + own.name, Note: own.note, Complete: own.hint == ""})
	}
	commands, _ := c.status.known()
	for _, command := range commands {
		if !isOwn(command.Name) {
			all = append(all, compose.Choice{Text: "/" + command.Name, Note: command.Description})
		}
	}
	return all
}

// choicesWith returns the choices that start with a text.
func choicesWith(with string, choices []compose.Choice) []compose.Choice {
	return slices.DeleteFunc(choices, func(c compose.Choice) bool {
		return !strings.HasPrefix(c.Text, with) || c.Text != clikit.Printable(c.Text)
	})
}

// message returns the prompt for a text: with the images that it names, and the output of the shell
// commands that the user has run since the last prompt.
func (c *chat) message(text string) *wire.UserMessage {
	var blocks []wire.Block
	for _, image := range prompts.Images(text, c.user.questions().dir()) {
		blocks = append(blocks, image.Block)
		c.screen.note("image: " + image.Path)
	}
	for _, ran := range c.ran {
		blocks = append(blocks, &wire.TextBlock{Text: ran})
	}
	c.ran = nil
	return clew.NewUserMessage(append(blocks, &wire.TextBlock{Text: text})...)
}

// shellCommand returns the shell command in a text, if it is one.
func shellCommand(text string) (command string, ok bool) {
	command, ok = strings.CutPrefix(text, "!")
	command = strings.TrimSpace(command)
	return command, ok && command != ""
}

// runShell runs a shell command for the user, who may interrupt it. The agent learns of it with the
// next prompt.
func (c *chat) runShell(ctx context.Context, command string) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	over := c.user.onInterrupt(cancel)
	defer over()
	c.screen.busy("running " + tty.Line(command))
	output, err := prompts.Shell(running, command, c.user.questions().dir())
	c.screen.idle()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	outcome := ""
	if err != nil {
		outcome = err.Error()
	}
	c.ran = append(c.ran, strings.TrimRight("The user ran a shell command.\n$ "+command+"\n"+output+"\n"+outcome, "\n"))
	if output != "" {
		if err := c.print(output); err != nil {
			return err
		}
	}
	if outcome != "" {
		c.screen.note(outcome)
	}
	return nil
}
