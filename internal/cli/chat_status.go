package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A chatStatus is what is known of a session. What is not known is zero.
type chatStatus struct {
	model    string
	mode     wire.PermissionMode
	cost     float64
	counted  bool // the cost is known
	context  *clew.ContextReport
	commands []wire.SlashCommand
	models   []clew.ModelInfo
}

func (s *chatStatus) begin(info *clew.ServerInfo) {
	s.model, s.mode = info.CurrentModel, info.CurrentPermissionMode
	s.commands, s.models = info.Commands, info.Models
}

// follow takes note of what a message says.
func (s *chatStatus) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.InitMessage:
		s.model, s.mode = cmp.Or(m.Model, s.model), cmp.Or(m.PermissionMode, s.mode)
		s.learn(m.SlashCommands)
	case *wire.StatusMessage:
		s.mode = cmp.Or(m.PermissionMode, s.mode)
	case *wire.CommandsChangedMessage:
		s.commands = m.Commands
	case *wire.ResultMessage:
		s.cost, s.counted = m.TotalCostUSD, true
	}
}

// learn adds commands that only have a name.
func (s *chatStatus) learn(names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(s.commands, func(c wire.SlashCommand) bool { return c.Name == name }) {
			s.commands = append(s.commands, wire.SlashCommand{Name: name})
		}
	}
}

// line is the line above the input.
func (s *chatStatus) line() string {
	var parts []string
	for _, part := range []string{s.model, string(s.mode)} {
		if part != "" {
			parts = append(parts, printable(part))
		}
	}
	if s.counted {
		parts = append(parts, fmt.Sprintf("$%.2f", s.cost))
	}
	if s.context != nil && s.context.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("context %.0f%%", s.context.Percentage))
	}
	return strings.Join(parts, " · ")
}

// contextLimit is how long the user waits for the line above the input.
const contextLimit = 2 * time.Second

// weigh asks how full the context is.
func (c *chat) weigh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, contextLimit)
	defer cancel()
	report, err := c.session.ContextSummary(ctx)
	if err != nil {
		report = nil
	} else if c.status.model == "" {
		c.status.model = report.Model
	}
	c.status.context = report
}
