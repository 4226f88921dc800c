// Package agentcli implements run and chat, the commands that work with an agent on the terminal.
// Other commands have flags, questions and turns of the same kind from here.
//
// # Output
//
// On a terminal, answers are laid out block by block with package markdown. The last block is drawn
// again as it grows, and everything above it is final and stays in the scrollback. On a pipe, run
// writes the text as the model wrote it. Package tty gives every text a style by its meaning, in
// the terminal's own 16 colors.
//
// A tool is reported once. On a terminal, the last line shows the running call and its time, and
// a call's row appears with its outcome, after any question about it. A call that starts a
// subagent has its row before the subagent's rows, and its outcome after them. On a pipe, each call
// has a line when it starts, and a failure has another.
//
// The agent's questions go to the terminal even if stdin is a pipe: as ssh and sudo do, clew opens
// /dev/tty. In the background, and without a terminal, it denies, and the model learns why. Package
// ask decides what a question shows.
//
// When a turn ends or a question waits, and the user did not type for ten seconds, run and chat
// ring the bell and send a notification (OSC 9 and OSC 777). Only terminals get them, and the
// setting notify turns them off.
package agentcli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/timelimit"
)

// A Program has the parts of the program that its commands need.
type Program struct {
	clikit.Streams
	// Keys returns the keys of a chat, or nil for the usual ones. It is called when a command runs.
	Keys func() *keymap.Map
	// Environ returns the environment for agents that the user starts in a chat. It is called when a
	// command runs.
	Environ func() []string
}

// Commands returns the commands.
func Commands(p Program) []*cobra.Command { return []*cobra.Command{newRun(p.Streams), newChat(p)} }

// Limits.
var (
	// stopLimit is the time limit for the agent to end an interrupted turn.
	stopLimit = 5 * time.Second
	// suggestLimit is the time limit for the agent to suggest files, before files in the directory
	// are shown.
	suggestLimit = 2 * time.Second
	// ToolLimit is the time for which a question waits for its tool use.
	ToolLimit = time.Second
)

var _ = timelimit.Register(&stopLimit, &suggestLimit)
