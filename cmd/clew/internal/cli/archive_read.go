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
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

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
	bar := clikit.ProgressOn(s.streams.Err, -1, clikit.Now)
	u, err := archive.New(target).Unpack(ctx, dir, &archive.UnpackOptions{Live: live, Progress: bar.Func()})
	bar.Clear()
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
	sum := sha256.Sum256([]byte(strings.Join(append([]string{name}, live...), "\x00")))
	return view.CachePath("archive", hex.EncodeToString(sum[:8]))
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
