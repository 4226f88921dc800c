package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/config"
	"github.com/clewdev/clew/internal/lineedit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

// A chatCommand is a command of clew chat.
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

// ownCommand returns the command of clew chat in a text, if it is one.
func (c *chat) ownCommand(text string) (command func(context.Context) error, ok bool) {
	name, argument := commandIn(text)
	for _, own := range chatCommands() {
		if own.name == name {
			return func(ctx context.Context) error { return own.run(c, ctx, argument) }, true
		}
	}
	return nil, false
}

var commandName = regexp.MustCompile(`^/([A-Za-z][A-Za-z0-9_:.-]*)(?:\s|$)`)

// commandIn returns the name of the command that a text begins with, and its argument. The name is
// "" if the text is a prompt: a path has another slash, and a space before the slash makes a prompt
// of any text.
func commandIn(text string) (name, argument string) {
	match := commandName.FindStringSubmatch(text)
	if match == nil {
		return "", ""
	}
	return match[1], strings.TrimSpace(text[len(match[0]):])
}

// unknownCommand returns what to say about a text that begins with a command which neither clew
// chat nor the agent has, or "". If the agent does not list its commands, it gets all those that
// are not similar to one of ours.
func (c *chat) unknownCommand(text string) string {
	name, _ := commandIn(text)
	if name == "" {
		return ""
	}
	var names []string
	for _, own := range chatCommands() {
		names = append(names, own.name)
	}
	for _, command := range c.status.commands {
		names = append(append(names, command.Name), command.Aliases...)
	}
	near := config.Nearest(name, names)
	if slices.Contains(names, name) || near == "" && len(c.status.commands) == 0 {
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
	c.screen.say(cleanText(problem) + "\n")
	c.turns++
	c.failed++
}

// greet says what can be typed.
func (c *chat) greet() {
	agent := "Claude Code"
	if version := c.session.Info().Version; version != "" {
		agent += " " + version
	}
	if c.status.model != "" {
		agent += ", " + c.status.model
	}
	width := max(c.screen.width-1, 1)
	color := colored(c.streams.Err)
	for _, line := range []string{agent, "/help for commands · Esc or Ctrl-C interrupts · Ctrl-D ends"} {
		for _, row := range tty.Wrap(printable(line), width) {
			c.screen.say(tty.Dim.Paint(row, color) + "\n")
		}
	}
}

func isOwn(name string) bool {
	return slices.ContainsFunc(chatCommands(), func(own chatCommand) bool { return own.name == name })
}

// commandLimit is how long a command waits for the agent.
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
		c.screen.say(cleanText(reason(ctx, err)) + "\n")
	}
	return nil
}

// print writes text of several lines to stdout.
func (c *chat) print(text string) error {
	if err := c.screen.write(cleanText(strings.TrimRight(text, "\n")) + "\n"); err != nil {
		return &writeError{err}
	}
	return nil
}

func (c *chat) setModel(ctx context.Context, name string) error {
	if name == "" {
		return c.print(orUnknown(c.status.model))
	}
	return c.ask(ctx, func(ctx context.Context) error {
		model, err := c.session.SetModel(ctx, name)
		if err == nil {
			c.status.model = cmp.Or(model, name)
			c.screen.note("the model is now " + c.status.model)
		}
		return err
	})
}

func (c *chat) setMode(ctx context.Context, name string) error {
	if name == "" {
		return c.print(orUnknown(string(c.status.mode)))
	}
	return c.ask(ctx, func(ctx context.Context) error {
		err := c.session.SetPermissionMode(ctx, wire.PermissionMode(name))
		if err == nil {
			c.status.mode = wire.PermissionMode(name)
			c.screen.note("the permission mode is now " + name)
		}
		return err
	})
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
		fmt.Fprintf(&text, "%s of %s tokens, %.0f%%\n",
			group(int64(report.TotalTokens)), group(int64(report.MaxTokens)), report.Percentage)
		for _, part := range report.Categories {
			fmt.Fprintf(&text, "%10s  %s\n", group(int64(part.Tokens)), tty.Line(part.Name))
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
	for _, command := range c.status.commands {
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
		width = textWidth(nil, 80)
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

// complete returns the completions of a text: commands, or arguments of a command.
func (c *chat) complete(before string) (from int, choices []lineedit.Choice) {
	word, argument, spaced := strings.Cut(before, " ")
	if !strings.HasPrefix(word, "/") || strings.ContainsAny(argument, " \n") || strings.Contains(word, "\n") {
		return 0, nil
	}
	if !spaced {
		return 0, choicesWith(before, c.commandChoices())
	}
	switch word {
	case "/model":
		for _, m := range c.status.models {
			choices = append(choices, lineedit.Choice{Text: m.Value, Note: m.DisplayName})
		}
	case "/mode":
		for _, mode := range permissionModes {
			choices = append(choices, lineedit.Choice{Text: string(mode)})
		}
	}
	return len(word) + 1, choicesWith(argument, choices)
}

var permissionModes = []wire.PermissionMode{
	wire.PermissionModeAcceptEdits, wire.PermissionModeAuto, wire.PermissionModeBypassPermissions,
	wire.PermissionModeDefault, wire.PermissionModeDontAsk, wire.PermissionModePlan,
}

// commandChoices returns the commands of clew chat, followed by those of the agent.
func (c *chat) commandChoices() []lineedit.Choice {
	var all []lineedit.Choice
	for _, own := range chatCommands() {
		all = append(all, lineedit.Choice{Text: "/" + own.name, Note: own.note})
	}
	for _, command := range c.status.commands {
		if !isOwn(command.Name) {
			all = append(all, lineedit.Choice{Text: "/" + command.Name, Note: command.Description})
		}
	}
	return all
}

// choicesWith returns the choices that begin with a text.
func choicesWith(with string, choices []lineedit.Choice) []lineedit.Choice {
	return slices.DeleteFunc(choices, func(c lineedit.Choice) bool {
		return !strings.HasPrefix(c.Text, with) || c.Text != printable(c.Text)
	})
}
