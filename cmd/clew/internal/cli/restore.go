package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

type restoreOptions struct {
	streams Streams
	st      *settings
	machine string
	dir     string
	force   bool
	json    bool
}

func newRestore(s Streams, st *settings) *cobra.Command {
	o := &restoreOptions{streams: s, st: st}
	cmd := &cobra.Command{
		Use:   "restore ID",
		Short: "Put a session back from the archive",
		Long: `Put the files of a session back from the archive to where they were, so that
"claude --resume ID" continues it in its directory. ID is the ID of a session or its
prefix. Files get the present time, since Claude Code deletes sessions by
the age of their files.

A file that exists with another content is not replaced. With --force it is renamed,
and the one of the archive gets its name. If several machines have saved the session,
the longest copy is restored, or that of --machine. If its directory does not exist
on this machine, --dir restores it for another one, in which it then continues.`,
		Example: `  clew restore 4f1c
  clew restore 4f1c --from ~/sync/claude --machine laptop
  clew restore 4f1c --dir .`,
		Args: clikit.ExactlyOne("the ID of a session"),
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().StringVar(&o.machine, "machine", "", "restore the copy of the machine with this `name`")
	cmd.Flags().StringVar(&o.dir, "dir", "", "restore it as a session of this `directory`")
	clikit.AddOnOff(cmd, &o.force, "force", "rename files that exist with another content")
	clikit.AddOnOff(cmd, &o.json, "json", "print JSON")
	return cmd
}

// A restoredRecord is the result of restore in JSON.
type restoredRecord struct {
	ID      string   `json:"id"`
	Machine string   `json:"machine"`
	Path    string   `json:"path"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Aside   []string `json:"aside,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	// NoCWD means that the directory does not exist here.
	NoCWD bool `json:"cwd_missing,omitempty"`
	// Problems are files that are damaged in the archive. They were not written.
	Problems []string `json:"problems,omitempty"`
}

// project returns the project of --dir, or "" without it.
func (o *restoreOptions) project() (string, error) {
	if o.dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.dir)
	if err == nil && !isDir(dir) {
		err = fmt.Errorf("%s is not a directory", clikit.Printable(o.dir))
	}
	if err != nil {
		return "", clikit.UsageError(err.Error(), "Give --dir an existing directory.")
	}
	o.dir = dir
	return sessions.ProjectName(dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (o *restoreOptions) run(ctx context.Context, args []string) error {
	project, err := o.project()
	if err != nil {
		return err
	}
	at, err := archiveNamed(o.st.from)
	if err != nil {
		return err
	}
	target, err := at.Open(ctx, false)
	if err != nil {
		return err
	}
	defer target.Close() //nolint:errcheck // it was only read
	a := archive.New(target)
	session, err := a.Find(ctx, args[0], &archive.FindOptions{Machine: o.machine})
	if err != nil {
		return archiveError(ctx, err)
	}
	report, err := a.Restore(ctx, session, &archive.RestoreOptions{Force: o.force, Project: project})
	if conflict, ok := errors.AsType[*archive.ConflictError](err); ok {
		return o.conflict(conflict)
	}
	if err != nil {
		if report != nil { // earlier contents must be found again
			for _, path := range report.Aside {
				clikit.Remark(o.streams.Err, tty.Waiting, "clew restore", "renamed what was there to "+clikit.Printable(path))
			}
		}
		return archiveError(ctx, err)
	}
	r := restoredRecord{
		ID: session.Session, Machine: session.Machine, Path: report.Path, Files: report.Written, Bytes: report.Bytes, Aside: report.Aside,
	}
	r.CWD = o.dir
	if info, err := sessions.Get(ctx, session.Session, &sessions.Options{ProjectName: session.Project}); err == nil && r.CWD == "" {
		r.CWD = info.CWD
	}
	r.NoCWD = r.CWD != "" && !isDir(r.CWD)
	for _, p := range report.Problems {
		r.Problems = append(r.Problems, clikit.Printable(p.Err.Error()))
	}
	if err := printEither(o.streams.Out, o.json, r, r.text()); err != nil {
		return err
	}
	return unreadFailure(o.streams, "clew restore", r.Problems)
}

func (o *restoreOptions) conflict(err *archive.ConflictError) error {
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(strings.TrimPrefix(err.Error(), "archive: ")))}
	if err.Longer {
		f.Hint = "There is nothing to restore."
	} else {
		f.Hint = "Give --force to rename it and restore the session."
	}
	return f
}

func (r *restoredRecord) text() string {
	var b strings.Builder
	if r.Files == 0 {
		fmt.Fprintf(&b, "Session %s is already there, as %s has it in the archive.\n", r.ID, r.Machine)
	} else {
		fmt.Fprintf(&b, "Restored session %s of %s: %s, %s.\n", r.ID, r.Machine, wording.Count(r.Files, "file"), wording.Size(r.Bytes))
	}
	for _, path := range r.Aside {
		fmt.Fprintf(&b, "Renamed what was there to %s.\n", clikit.Printable(path))
	}
	if r.NoCWD {
		fmt.Fprintf(&b, "Its directory does not exist on this machine: %s\n", clikit.Printable(r.CWD))
		fmt.Fprintf(&b, "Create it, or continue the session in another one: clew restore %s --dir DIR\n", r.ID)
	}
	fmt.Fprintf(&b, "To continue it: %s\n", clikit.Printable(view.ResumeCommand(r.ID, r.CWD, r.Path)))
	return b.String()
}
