// Package fleetcli implements the commands submit, worker, jobs and fleet. They are a thin layer
// over package fleet: flags become a [fleet.Spec] or a decision, and records become tables and
// JSON.
//
// Whatever a record says was written on other machines, so it is escaped before a terminal gets it.
package fleetcli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
)

// A Program has the parts of the program that its commands need.
type Program struct {
	clikit.Streams
	// Version is the version of the program.
	Version string
	// Prepare gives a command its settings before an argument of it is completed; nil means that there
	// are none.
	Prepare func(ctx context.Context, cmd *cobra.Command)
	// Questions opens the terminal for questions. It returns an error if nobody can be asked.
	Questions func(ctx context.Context) (Questioner, error)
}

// A Questioner asks the user on the terminal the questions of a job's agent, below a text of the
// command. Long questions are shown in pages, and are not allowed before the last page unless the
// user insists. Its errors mean that nothing was answered.
type Questioner interface {
	Ask(ctx context.Context, above string, q *ask.Question) (ask.Answer, error)
	Close()
}

// Commands returns the commands.
func Commands(p Program) []*cobra.Command {
	return []*cobra.Command{newSubmit(&p), newWorker(&p), newJobs(&p), newFleet(&p)}
}
