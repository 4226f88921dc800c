package fleetcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type jobsPatchOptions struct {
	place
	apply   bool
	links   bool
	attempt int
	changes []agents.Change // that were applied
	json    bool
}

const jobsPatchHelp = `Print the changes of a job in its repository, as a git patch. With --apply, apply it
to the working directory of the repository that contains this directory: all of it
or, if a file does not fit, nothing. The index and the commits stay as they are.

--apply needs a job that is done, or --attempt for the changes of an attempt; a
repository with the commit that the job started from; and no uncommitted changes in the
files of the patch. It lists new programs, changed modes and links. It refuses patches
with symbolic links, unless --allow-links is given and they stay in the repository, with
submodules, and with files in .git.`

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
	cmd.ValidArgsFunction = o.completeJobs(1, isAny)
	clikit.AddOnOff(cmd, &o.apply, "apply", "apply the patch here")
	clikit.AddOnOff(cmd, &o.links, "allow-links", "with --apply, allow symbolic links that stay in the repository")
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
		if err := o.applyHere(ctx, j, a, patch); err != nil {
			return err
		}
	}
	return o.print(j, a, patch)
}

// chosen returns the attempt whose patch is wanted.
func (o *jobsPatchOptions) chosen(j *fleet.Job) (*fleet.Attempt, error) {
	for i := len(j.Attempts) - 1; i >= 0; i-- {
		a := &j.Attempts[i]
		if a.Patch == "" || o.attempt != 0 && a.Number != o.attempt {
			continue
		}
		if o.apply && o.attempt == 0 && (j.State != fleet.Done || i < len(j.Attempts)-1) {
			return nil, o.unfinished(j, a)
		}
		return a, nil
	}
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("job %s has no patch", j.ID)}
	switch {
	case j.Spec.Repo == nil:
		f.Hint = "It has no repository: see clew submit --repo."
	case !j.State.Ended():
		f.Hint = fmt.Sprintf("It is %s: %s", j.State, o.flags().command("jobs", "show", j.ID))
	case o.attempt == 0 && j.State == fleet.Done && j.Text == "":
		f.Hint = "The agent has changed no files."
	default:
		f.Hint = "What became of it says: " + o.flags().command("jobs", "show", j.ID)
	}
	return nil, f
}

// unfinished refuses to apply the leftovers of an attempt that are not the job's result.
func (o *jobsPatchOptions) unfinished(j *fleet.Job, a *fleet.Attempt) error {
	err := fmt.Errorf("job %s is %s, so its patch is not a result", j.ID, j.State)
	if j.State == fleet.Done {
		err = fmt.Errorf("the last attempt of job %s has changed no files", j.ID)
	}
	return &clikit.Failure{Code: clikit.ExitFailed, Err: err, Hint: fmt.Sprintf("To apply what attempt %d has left behind all the same: %s",
		a.Number, o.flags().command("jobs", "patch", j.ID, "--apply", "--attempt", strconv.Itoa(a.Number)))}
}

// applyHere applies a patch to the repository of this directory.
func (o *jobsPatchOptions) applyHere(ctx context.Context, j *fleet.Job, a *fleet.Attempt, patch []byte) error {
	if j.Spec.Repo == nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("job %s has no repository that its patch belongs to", j.ID)}
	}
	top, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return &clikit.Failure{
			Code: clikit.ExitFailed, Err: errors.New("this directory is not in a git repository"),
			Hint: "Change to the repository of the job: " + clikit.Printable(j.Spec.Repo.URL),
		}
	}
	// Below the top of the repository, git apply leaves out other files without a word.
	apply := o.flags().command("jobs", "patch", j.ID, "--attempt", strconv.Itoa(a.Number)) + " | git -C " + clikit.Printable(tty.ShellWord(top)) + " apply"
	if a.Base != "" {
		if _, err := git(ctx, top, "cat-file", "-e", a.Base+"^{commit}"); err != nil {
			return &clikit.Failure{
				Code: clikit.ExitFailed, Err: fmt.Errorf("this repository does not have the commit %s that the job began from", clikit.Printable(a.Base)),
				Hint: fmt.Sprintf("Nothing was changed. Change to the repository %s, or fetch the commit. To apply it here all the same: %s",
					clikit.Printable(j.Spec.Repo.URL), apply),
			}
		}
	}
	if err := clean(ctx, top, patch); err != nil {
		return failure(ctx, err)
	}
	o.changes, err = agents.Apply(ctx, ".", bytes.NewReader(patch), &agents.ApplyOptions{Links: o.links})
	out := failure(ctx, err)
	if f, ok := errors.AsType[*clikit.Failure](out); ok && errors.Is(err, agents.ErrUnsafe) {
		f.Hint = "Nothing was changed. Read the patch: " + o.flags().command("jobs", "patch", j.ID, "--attempt", strconv.Itoa(a.Number))
		if errors.Is(err, agents.ErrLink) {
			f.Hint += "\nIts links stay in the repository; --allow-links applies them."
		}
	}
	if f, ok := errors.AsType[*clikit.Failure](out); ok && errors.Is(err, agents.ErrPatch) {
		f.Hint = "Nothing was changed. To merge it, with marks where it conflicts: " + apply + " --3way"
		if a.Base != "" {
			f.Hint += "\nOr apply it to the commit that the job began from: git switch --detach " + clikit.Printable(a.Base)
		}
	}
	return out
}

// clean returns an error if a patch changes a file with uncommitted changes: both would be in one
// file, and nobody could separate them.
func clean(ctx context.Context, top string, patch []byte) error {
	numbers, err := gitWith(ctx, bytes.NewReader(patch), top, "apply", "--numstat", "-z")
	if err != nil {
		return nil // an empty or unfit patch: then nothing is changed
	}
	files := make(map[string]bool)
	for entry := range strings.SplitSeq(numbers, "\x00") {
		if fields := strings.SplitN(entry, "\t", 3); len(fields) == 3 {
			files[fields[2]] = true
		}
	}
	for line := range strings.Lines(string(patch)) { // the numbers have only the new names
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "rename from ")
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		if ok {
			files[name] = true
		}
	}
	status, err := gitWith(ctx, nil, top, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
	if err != nil {
		return err
	}
	const code = len("XY ")
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) > code && files[entry[code:]] {
			return &clikit.Failure{
				Code: clikit.ExitFailed, Err: fmt.Errorf("%s has changes that are not committed", clikit.Printable(entry[code:])),
				Hint: "Nothing was changed. Commit them, or put them away with git stash.",
			}
		}
	}
	return nil
}

func (o *jobsPatchOptions) print(j *fleet.Job, a *fleet.Attempt, patch []byte) error {
	switch {
	case o.json:
		out := map[string]any{"id": j.ID, "attempt": a.Number, "base": a.Base, "applied": o.apply, "patch": string(patch)}
		if !utf8.Valid(patch) {
			delete(out, "patch")
			out["patch_base64"] = patch
		}
		if o.apply {
			out["changes"] = o.changes
		}
		return written(clikit.WriteJSON(o.Out, out))
	case o.apply:
		_, err := fmt.Fprintf(o.Out, "applied what job %s has changed: %s\n%s", j.ID, wording.Count(len(o.changes), "file"), modes(o.changes))
		return written(err)
	case clikit.IsTerminal(o.Out):
		_, err := fmt.Fprint(o.Out, paintPatch(string(patch), clikit.Colored(o.Out)))
		return written(err)
	}
	_, err := o.Out.Write(patch) // for another program, byte for byte
	return written(err)
}

// modes lists the changes that are more than texts.
func modes(changes []agents.Change) string {
	names := map[string]string{agents.ModeExecutable: "program", agents.ModeLink: "symbolic link", agents.ModeFile: "file"}
	var b strings.Builder
	for _, c := range changes {
		what := "is now a " + names[c.NewMode] + ", and was a " + names[c.OldMode]
		switch {
		case c.OldMode == c.NewMode && c.NewMode != agents.ModeLink, c.NewMode == agents.ModeNone,
			c.OldMode == agents.ModeNone && c.NewMode == agents.ModeFile:
			continue
		case c.OldMode == agents.ModeNone || c.OldMode == c.NewMode:
			what = "is a " + names[c.NewMode]
		}
		if c.NewMode == agents.ModeLink {
			what += ", to " + c.Target
		}
		b.WriteString("  " + clikit.Printable(c.Path+" "+what) + "\n")
	}
	return b.String()
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
