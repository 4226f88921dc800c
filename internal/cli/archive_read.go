package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/engine"
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
	resume := "claude --resume " + r.ID
	if r.CWD != "" {
		resume = "cd " + quoteArg(r.CWD) + " && " + resume
	}
	fmt.Fprintf(&b, "To continue it: %s\n", resume)
	return b.String()
}

// archiveError describes an archive error.
func archiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	f := &clikit.Failure{Code: clikit.ExitInput, Err: errors.New(clikit.Printable(strings.TrimPrefix(err.Error(), "archive: ")))}
	if errors.Is(err, archive.ErrNotFound) {
		f.Hint = `Run "clew archive --status" to see what the archive has.`
	}
	return f
}

// archiveNamed returns the given archive, the one in the settings, or the user's.
func archiveNamed(given string) (engine.Archive, error) {
	name := cmp.Or(given, os.Getenv("CLEW_ARCHIVE"))
	if name == "" {
		var err error
		if name, err = userArchive(); err != nil {
			return engine.Archive{}, err
		}
	}
	return engine.Archive{Name: name}.Absolute(), nil
}

// userArchive returns the directory of an archive with the user's data.
func userArchive() (string, error) {
	home, err := os.UserHomeDir()
	data := os.Getenv("XDG_DATA_HOME")
	switch {
	case filepath.IsAbs(data):
		return filepath.Join(data, "clew", "archive"), nil
	case err != nil:
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: err, Hint: "Set HOME, or CLEW_ARCHIVE to the archive and CLAUDE_CONFIG_DIR to the agent's directory."}
	case runtime.GOOS == "windows" && os.Getenv("LocalAppData") != "":
		return filepath.Join(os.Getenv("LocalAppData"), "clew", "archive"), nil
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "clew", "archive"), nil
	}
	return filepath.Join(home, ".local", "share", "clew", "archive"), nil
}

// addFromFlag adds --from to all commands.
func addFromFlag(root *cobra.Command, from *string) {
	root.PersistentFlags().StringVar(from, "from", "",
		"also read the sessions of this `archive`; all commands that read sessions accept it")
}

// archiveReaders are the commands that read sessions, including sessions in an archive.
var archiveReaders = []string{"", "ls", "show", "tail", "view", "serve", "search", "stats", "export", "mcp"}

// checkFrom refuses --from for a command that reads no archive.
func checkFrom(cmd *cobra.Command) error {
	verb := verbOf(cmd)
	if cmd.Flags().Changed("from") && verb != "restore" && !slices.Contains(archiveReaders, verb) {
		return clikit.Misused(cmd, fmt.Errorf("clew %s does not read archives", verb))
	}
	return nil
}

// readArchive makes the sessions of an archive readable for a command that reads sessions: it
// unpacks the sessions that are missing from the agent's files.
func (s *settings) readArchive(cmd *cobra.Command) error {
	verb := verbOf(cmd)
	given := cmd.Flags().Changed("from")
	switch {
	case !slices.Contains(archiveReaders, verb):
		return nil
	case given && s.from == "" || !given && os.Getenv("CLEW_ARCHIVE") == "":
		sessions.SetArchiveRoots(nil)
		return nil
	}
	at := engine.Archive{Name: cmp.Or(s.from, os.Getenv("CLEW_ARCHIVE"))}.Absolute()
	roots, err := s.unpack(cmd, at)
	var f *clikit.Failure
	switch {
	case cmd.Context().Err() != nil:
		return &clikit.Failure{Code: clikit.ExitInterrupted, Command: cmd.CommandPath(), Err: errors.New("interrupted")}
	case errors.As(err, &f) && given:
		f.Command = cmd.CommandPath()
		return f
	case err != nil && given:
		return &clikit.Failure{Code: clikit.ExitInput, Command: cmd.CommandPath(), Err: errors.New(clikit.Printable(err.Error()))}
	case f != nil: // the agent's own files can be read all the same
		clikit.Remark(s.streams.Err, tty.Waiting, cmd.CommandPath(), "without the archive: "+f.Err.Error())
	case err != nil:
		clikit.Remark(s.streams.Err, tty.Waiting, cmd.CommandPath(), "without the archive: "+clikit.Printable(err.Error()))
	}
	sessions.SetArchiveRoots(roots)
	return nil
}

// unpack unpacks an archive to the user's cache, and returns the directories of its machines.
func (s *settings) unpack(cmd *cobra.Command, at engine.Archive) ([]string, error) {
	ctx := cmd.Context()
	sessions.SetArchiveRoots(nil)
	live, err := sessions.Roots()
	if err != nil {
		return nil, err
	}
	dir, err := cacheOf(at.Name, live)
	if err != nil {
		return nil, err
	}
	target, err := at.Open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer target.Close() //nolint:errcheck // it was only read
	show, clearBar := barOn(s.streams)
	u, err := archive.New(target).Unpack(ctx, dir, &archive.UnpackOptions{Live: live, Progress: show})
	clearBar()
	if err != nil {
		return nil, err
	}
	for _, p := range u.Problems {
		clikit.Remark(s.streams.Err, tty.Waiting, cmd.CommandPath(), "archive: "+clikit.Printable(strings.TrimPrefix(p.Err.Error(), "archive: ")))
	}
	var roots []string
	for _, root := range u.Roots {
		roots = append(roots, root)
	}
	slices.Sort(roots)
	return roots, nil
}

// cacheOf returns the directory to which an archive is unpacked. Its contents depend on the agents'
// directories: it holds the sessions that they lack.
func cacheOf(name string, live []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{name}, live...), "\x00")))
	return filepath.Join(cache, "clew", "archive", hex.EncodeToString(sum[:8])), nil
}

// thisMachine returns the name under which this machine saves its sessions.
func thisMachine() string {
	return cmp.Or(os.Getenv("CLEW_MACHINE"), keptMachine(), archive.MachineName())
}

// A machineFile keeps the name under which this machine first saved its sessions: the host's name
// may change with the network, and the same sessions would be saved again under another name.
type machineFile struct {
	Machine string `json:"machine"`
}

const machineFileName = "machine.json"

// keptMachine returns the kept name, or "" if there is none.
func keptMachine() string {
	path, err := clikit.StateFile(machineFileName)
	var file machineFile
	if err != nil || clikit.ReadJSON(path, &file, 1<<10) != nil || archive.CheckMachine(file.Machine) != nil {
		return ""
	}
	return file.Machine
}

// keepMachine keeps a name.
func keepMachine(name string) error {
	path, err := clikit.StateFile(machineFileName)
	if err != nil {
		return err
	}
	line, err := clikit.JSONLine(machineFile{name})
	if err != nil {
		return err
	}
	return clikit.WritePrivate(path, string(line), true)
}

// barOn returns a function that shows progress on a terminal, or nil, and a function that removes
// it.
func barOn(s Streams) (show func(done, all int64), clearBar func()) {
	if !clikit.IsTerminal(s.Err) || os.Getenv("TERM") == "dumb" {
		return nil, func() {}
	}
	bar := clikit.NewProgress(s.Err, -1, clikit.Now)
	return func(done, all int64) {
		bar.Total = all
		bar.Set(done)
	}, bar.Clear
}
