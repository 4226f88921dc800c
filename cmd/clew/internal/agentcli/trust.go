package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/settings"
)

// A project can bring files that make the agent run programs: hooks, MCP servers, agents, skills.
// Without its own terminal the agent does not ask whether its user trusts them. So clew does, and
// otherwise asks the agent to leave them out. A directory is trusted if the agent's own record, the
// record of clew, the setting trusted_dirs or a flag names it, or a directory above it up to the
// root of the repository. Without such files clew does not ask.

// mcpFile is the file with the MCP servers of a project.
const mcpFile = ".mcp.json"

// powerful are the files of the agent's directory in a project that can run programs.
var powerful = []string{
	settings.FileName, settings.LocalFileName, "agents", "commands", "skills", "plugins", "workflows",
}

// settleTrust leaves the project's settings out of opts unless the user trusts the project. It may
// ask on the terminal. It returns a line for the user, or "".
func (f *Flags) settleTrust(ctx context.Context, s clikit.Streams, opts *clew.Options) (note string, err error) {
	w, err := f.untrusted(".", opts)
	if err != nil {
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: err}
	}
	if w == nil {
		return "", nil
	}
	if !f.changed("trust") {
		yes, err := askTrust(ctx, s, w)
		switch {
		case ctx.Err() != nil:
			return "", &clikit.Failure{Code: clikit.ExitInterrupted, Err: errors.New("interrupted")}
		case err != nil:
			note = w.untrustedNote()
		case yes:
			return w.remember(ctx), nil
		}
	}
	w.leaveOut(opts)
	return note, nil
}

// TrustIn removes a directory's settings from opts unless the user trusts it. The note reports
// that.
func (f *Flags) TrustIn(dir string, opts *clew.Options) (note string, err error) {
	w, err := f.untrusted(dir, opts)
	if w == nil || err != nil {
		return "", err
	}
	w.leaveOut(opts)
	return w.untrustedNote(), nil
}

// untrusted returns the directories whose files the agent would read and the user does not trust yet, or nil.
func (f *Flags) untrusted(dir string, opts *clew.Options) (*workplace, error) {
	if f.typed("setting-sources") || !usesProject(opts) || f.changed("trust") && f.trust {
		return nil, nil
	}
	w, err := newWorkplace(dir, opts.Settings.ProjectConfigRoot)
	if err != nil || len(w.files) == 0 || !f.changed("trust") && w.trusted() {
		return nil, err
	}
	return w, nil
}

// usesProject reports whether the agent would read the project's settings.
func usesProject(opts *clew.Options) bool {
	return opts.Settings.Sources == nil || slices.ContainsFunc(opts.Settings.Sources, ofProject)
}

func ofProject(source clew.SettingSource) bool { return source != clew.SettingSourceUser }

// A workplace is the directories whose settings the agent reads: the working directory, and the one
// that --project-config-root names.
type workplace struct {
	dirs  []string // absolute, without symbolic links
	files []string // the files that can run programs, relative to the working directory where possible
	mcp   bool     // mcpFile is one of them
}

func newWorkplace(workDir, configRoot string) (*workplace, error) {
	w := &workplace{}
	for _, dir := range []string{workDir, configRoot} {
		if dir == "" {
			continue
		}
		real, err := realDir(dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(w.dirs, real) {
			w.dirs = append(w.dirs, real)
			w.search(real)
		}
	}
	return w, nil
}

func realDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir, nil
}

// search finds the files that can run programs. The agent reads .claude up to the root of the
// repository, and mcpFile in all directories above. Files in the home directory are the user's.
func (w *workplace) search(dir string) {
	root, inside := repositoryRoot(dir), true
	top := cmp.Or(root, dir)
	home, config := userDirs()
	for ; ; dir = filepath.Dir(dir) {
		if dir != home && w.note(filepath.Join(dir, mcpFile)) {
			w.mcp = true
			if rel, err := filepath.Rel(top, dir); (err != nil || !filepath.IsLocal(rel)) && !slices.Contains(w.dirs, dir) {
				w.dirs = append(w.dirs, dir) // trust in the project does not cover a directory above it
			}
		}
		if own := filepath.Join(dir, settings.FolderName); inside && dir != home && own != config {
			for _, name := range powerful {
				w.note(filepath.Join(own, name))
			}
		}
		inside = inside && dir != root
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// userDirs returns the home directory, and the directory that the agent has its settings in if the
// user has chosen one.
func userDirs() (home, config string) {
	if dir, err := os.UserHomeDir(); err == nil {
		home, _ = realDir(dir) // without it, there is no home
	}
	if dir := chosenDir(); dir != "" {
		config, _ = realDir(dir)
	}
	return home, config
}

// chosenDir returns the directory that the user chose for the agent, or "".
func chosenDir() string {
	if os.Getenv("CLAUDE_CONFIG_DIR") == "" {
		return ""
	}
	dir, _ := settings.Dir() // without it, there is none
	return dir
}

// note keeps a file if it exists.
func (w *workplace) note(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	if rel, err := filepath.Rel(w.dirs[0], path); err == nil {
		path = rel
	}
	if !slices.Contains(w.files, path) {
		w.files = append(w.files, path)
	}
	return true
}

// repositoryRoot returns the root of the git repository that a directory is in, or "".
func repositoryRoot(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// project returns the directory that is trusted together with dir: the root of its repository.
func project(dir string) string {
	return cmp.Or(repositoryRoot(dir), dir)
}

// leaveOut makes the agent read only the user's settings. An agent that ignores this for MCP
// servers gets only the servers from --mcp-config.
func (w *workplace) leaveOut(opts *clew.Options) {
	if opts.Settings.Sources == nil {
		opts.Settings.Sources = []clew.SettingSource{clew.SettingSourceUser}
	}
	opts.Settings.Sources = slices.DeleteFunc(slices.Clone(opts.Settings.Sources), ofProject)
	opts.StrictMCPConfig = opts.StrictMCPConfig || w.mcp
}

func (w *workplace) untrustedNote() string {
	return "! not trusted, so the agent reads no settings, hooks, MCP servers, agents, skills or CLAUDE.md " +
		"of this project: " + strings.Join(w.files, ", ") + "; see --trust"
}

// trusted reports whether the user already trusts all directories.
func (w *workplace) trusted() bool {
	accepted := acceptedByAgent()
	own, _ := readTrusted() // the user is asked again
	for _, dir := range own {
		accepted[dir] = true
	}
	for _, dir := range w.dirs {
		if !isAccepted(dir, accepted) && !isBelow(dir, filepath.SplitList(os.Getenv(trustVariable))) {
			return false
		}
	}
	return true
}

// trustVariable has the directories of the setting trusted_dirs.
const trustVariable = "CLEW_TRUSTED_DIRS"

// isAccepted reports whether a directory was accepted, or one above it in the same repository. A
// repository inside of a trusted directory may be someone else's.
func isAccepted(dir string, accepted map[string]bool) bool {
	for root := repositoryRoot(dir); ; dir = filepath.Dir(dir) {
		if accepted[dir] {
			return true
		}
		if dir == root || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// isBelow reports whether a directory is one of those or below one.
func isBelow(dir string, tops []string) bool {
	return slices.ContainsFunc(tops, func(top string) bool {
		if !filepath.IsAbs(top) { // also an empty element of the variable
			return false
		}
		top, err := realDir(top)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(top, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// maxAgentState is the size of the largest file of the agent that is read.
const maxAgentState = 64 << 20

// acceptedByAgent returns the directories that the user trusted in the agent itself.
func acceptedByAgent() map[string]bool {
	accepted := map[string]bool{}
	dir := chosenDir()
	if dir == "" {
		dir, _ = os.UserHomeDir() // without a home, there is no such file
	}
	var state struct {
		Projects map[string]struct {
			Accepted bool `json:"hasTrustDialogAccepted"`
		} `json:"projects"`
	}
	if clikit.ReadJSON(filepath.Join(dir, ".claude.json"), &state, maxAgentState) != nil {
		return accepted
	}
	for path, p := range state.Projects {
		if runtime.GOOS == "windows" {
			path = filepath.FromSlash(path)
		}
		accepted[path] = p.Accepted
	}
	return accepted
}

// A trustFile is the file with the directories that the user trusted here.
type trustFile struct {
	Directories []string `json:"directories"`
}

const trustFileName = "trusted.json"

// readTrusted returns the directories that the user trusted here.
func readTrusted() ([]string, error) {
	path, err := clikit.StateFile(trustFileName)
	if err != nil {
		return nil, err
	}
	var file trustFile
	err = clikit.ReadJSON(path, &file, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file.Directories, err
}

// remember adds the directories to the trusted ones. If that fails, it returns a line for the user,
// otherwise "".
func (w *workplace) remember(ctx context.Context) (note string) {
	path, err := clikit.StateFile(trustFileName)
	if err == nil {
		err = w.save(ctx, path)
	}
	if err != nil {
		return fmt.Sprintf("! cannot save the answer: %s: %v", path, clikit.Cause(err))
	}
	return ""
}

// save adds the directories to the file. Other processes that do so wait for this one.
func (w *workplace) save(ctx context.Context, path string) (err error) {
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := files.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.RemoveLocked(lock)) }()
	all, err := readTrusted()
	if err != nil {
		return err
	}
	for _, dir := range w.dirs {
		if dir = project(dir); !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	text, err := json.MarshalIndent(trustFile{Directories: all}, "", "  ")
	if err != nil {
		return err
	}
	return clikit.WritePrivate(path, string(text)+"\n", true)
}

// askTrust asks on the terminal whether the user trusts the directories. It returns an error if
// nobody can be asked.
func askTrust(ctx context.Context, s clikit.Streams, w *workplace) (yes bool, err error) {
	return AskYes(ctx, s, w.question(), trustPrompt)
}

const trustPrompt = "Trust it? [y]es, always / [N]o, leave them out: "

func (w *workplace) question() string {
	var b strings.Builder
	var names []string
	for _, dir := range w.dirs {
		names = append(names, clikit.Printable(project(dir)))
	}
	fmt.Fprintf(&b, "? These files of %s can run programs on this machine:\n", strings.Join(names, " and "))
	for _, file := range w.files {
		fmt.Fprintf(&b, "  %s\n", clikit.Printable(file))
	}
	return b.String()
}
