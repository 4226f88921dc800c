// Package fleetcli has the commands about jobs on many machines: submit, worker, jobs and fleet. They
// are a thin layer over package fleet: flags become a [fleet.Spec] or a decision, and records become
// tables and JSON.
//
// Whatever a record says was written on other machines, so it is escaped before a terminal gets it.
package fleetcli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/clikit"
)

// A Program is what the commands need of the program that they belong to.
type Program struct {
	clikit.Streams
	// Version is that of the program.
	Version string
	// StateFile returns the path of a file that the program keeps for itself.
	StateFile func(name string) (string, error)
	// HandOver leaves interrupts to the command until back is called.
	HandOver func() (back func())
	// Ask shows a text and a prompt on the terminal, and returns the line that is typed there. It
	// returns an error if nobody can be asked.
	Ask func(ctx context.Context, text, prompt string) (string, error)
}

// Commands returns the commands.
func Commands(p Program) []*cobra.Command {
	return []*cobra.Command{newSubmit(&p), newWorker(&p), newJobs(&p), newFleet(&p)}
}
