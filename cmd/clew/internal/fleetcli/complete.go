package fleetcli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/tty"
)

const maxCompletions = 100

// completionTime is the time that the user of a shell waits.
var completionTime = 2 * time.Second

var _ = timelimit.Register(&completionTime)

// The jobs of a completion.
func isAny(jobview.Row) bool     { return true }
func isOpen(r jobview.Row) bool  { return r.State != fleet.Damaged && !r.State.Ended() }
func isEnded(r jobview.Row) bool { return r.State.Ended() }
func isStuck(r jobview.Row) bool { return r.MayRequeue() }

// completes calls a function with a connection for completions. Whatever fails, there are none: nobody
// reads an error in the middle of a line.
func (p *place) completes(ctx context.Context, find func(ctx context.Context, c *connection) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	program := *p.Program
	program.Err = io.Discard
	quiet := *p
	quiet.Program = &program
	if p.Prepare != nil {
		p.Prepare(ctx, p.cmd)
		quiet.fleet, quiet.credentials = p.fleet, p.credentials
	}
	c, err := quiet.connect(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	return find(ctx, c), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeAsking completes the ID of a job that asks something.
func (p *place) completeAsking() cobra.CompletionFunc {
	return p.completeJobs(1, func(r jobview.Row) bool { return r.Asks })
}

// completeJobs completes the IDs of up to so many jobs that are wanted: jobs that need attention
// first.
func (p *place) completeJobs(most int, wants func(jobview.Row) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.completes(cmd.Context(), func(ctx context.Context, c *connection) []string {
			asked, err := c.asked(ctx)
			if err != nil {
				return nil
			}
			var rows []jobview.Row
			for s, err := range c.Jobs(ctx) {
				if err != nil {
					break // what is there is better than nothing
				}
				r := jobview.NewRow(s, asked[s.ID] > 0)
				if strings.HasPrefix(s.ID, word) && !slices.Contains(args, s.ID) && wants(r) {
					rows = append(rows, r)
				}
			}
			slices.SortFunc(rows, jobview.Row.Compare)
			var words []string
			for _, r := range rows[:min(len(rows), maxCompletions)] {
				words = append(words, r.ID+"\t"+tty.Fit(string(r.State)+": "+jobview.Title(r.Summary), 60))
			}
			return words
		})
	}
}

// completeQuestion completes the ID of an open question of a job.
func (p *place) completeQuestion(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completes(cmd.Context(), func(ctx context.Context, c *connection) []string {
		j, err := c.find(ctx, args[0])
		if err != nil {
			return nil
		}
		open, _, err := c.open(ctx, j)
		if err != nil {
			return nil
		}
		var words []string
		for _, q := range open {
			words = append(words, clikit.Printable(q.ID)+"\t"+tty.Fit(clikit.Printable(ask.JobTitle(q)), 60))
		}
		return words
	})
}
