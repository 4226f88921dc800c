package fleetcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
)

type jobsPatchOptions struct {
	place
	apply   bool
	attempt int
	json    bool
}

const jobsPatchHelp = `Print what a job has changed in its repository, as a patch of git. With --apply, apply
it to the working directory of the repository that contains this directory: all of it
or, if a file does not fit, nothing. The index and the commits stay as they are.`

func newJobsPatch(p *Program) *cobra.Command {
	o := &jobsPatchOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "patch ID",
		Short: "Print or apply what a job has changed",
		Long:  jobsPatchHelp,
		Example: `  clew jobs patch m4k
  clew jobs patch m4k --apply`,
		Args: clikit.ExactlyOne("ID"),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.apply, "apply", "apply the patch here")
	cmd.Flags().IntVar(&o.attempt, "attempt", 0, "`number` of the attempt (default the last one with a patch)")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object with the patch")
	return cmd
}

func (o *jobsPatchOptions) run(ctx context.Context, args []string) error {
	c, j, err := o.connectTo(ctx, args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := o.chosen(j)
	if err != nil {
		return err
	}
	patch, err := c.readFile(ctx, a.Patch)
	if err != nil {
		return err
	}
	if o.apply {
		if err := o.applyHere(ctx, j, patch); err != nil {
			return err
		}
	}
	return o.print(j, a, patch)
}

// chosen returns the attempt whose patch is wanted.
func (o *jobsPatchOptions) chosen(j *fleet.Job) (*fleet.Attempt, error) {
	for i := len(j.Attempts) - 1; i >= 0; i-- {
		if a := &j.Attempts[i]; a.Patch != "" && (o.attempt == 0 || a.Number == o.attempt) {
			return a, nil
		}
	}
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("job %s has no patch", j.ID)}
	switch {
	case j.Spec.Repo == nil:
		f.Hint = "It has no repository: see clew submit --repo."
	case !j.State.Ended():
		f.Hint = fmt.Sprintf("It is %s: clew jobs show %s", j.State, j.ID)
	case o.attempt == 0 && j.State == fleet.Done && j.Text == "":
		f.Hint = "The agent has changed no files."
	default:
		f.Hint = "What became of it says: clew jobs show " + j.ID
	}
	return nil, f
}

// applyHere applies a patch to the repository of this directory.
func (o *jobsPatchOptions) applyHere(ctx context.Context, j *fleet.Job, patch []byte) error {
	if _, err := git(ctx, ".", "rev-parse", "--show-toplevel"); err != nil {
		return &clikit.Failure{
			Code: clikit.ExitFailed, Err: errors.New("this directory is not in a git repository"),
			Hint: "Change to the repository of the job: " + clikit.Printable(j.Spec.Repo.URL),
		}
	}
	err := agents.Apply(ctx, ".", bytes.NewReader(patch))
	out := failure(ctx, err)
	if f, ok := errors.AsType[*clikit.Failure](out); ok && errors.Is(err, agents.ErrPatch) {
		f.Hint = "Nothing was changed. Commit or put away your own changes, or check out the commit that the job began from."
	}
	return out
}

func (o *jobsPatchOptions) print(j *fleet.Job, a *fleet.Attempt, patch []byte) error {
	switch {
	case o.json:
		out := map[string]any{"id": j.ID, "attempt": a.Number, "base": a.Base, "applied": o.apply, "patch": string(patch)}
		if !utf8.Valid(patch) {
			delete(out, "patch")
			out["patch_base64"] = patch
		}
		return written(clikit.WriteJSON(o.Out, out))
	case o.apply:
		_, err := fmt.Fprintf(o.Out, "applied what job %s has changed: %s\n", j.ID, tty.Counted(bytes.Count(patch, []byte("\ndiff --git "))+1, "file"))
		return written(err)
	case clikit.IsTerminal(o.Out):
		_, err := fmt.Fprint(o.Out, paintPatch(string(patch), clikit.Colored(o.Out)))
		return written(err)
	}
	_, err := o.Out.Write(patch) // for another program, byte for byte
	return written(err)
}

// paintPatch returns a patch as a terminal can show it.
func paintPatch(patch string, color bool) string {
	var b strings.Builder
	for line := range strings.Lines(patch) {
		style := tty.Plain
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			style = tty.Title
		case strings.HasPrefix(line, "+"):
			style = tty.Addition
		case strings.HasPrefix(line, "-"):
			style = tty.Removal
		case strings.HasPrefix(line, "@@"):
			style = tty.Path
		}
		b.WriteString(style.Paint(tty.Clean(strings.TrimSuffix(line, "\n")), color) + "\n")
	}
	return b.String()
}
