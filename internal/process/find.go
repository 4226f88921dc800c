package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/version"
)

// agentVariable names the agent binary for all programs of a user.
const agentVariable = "CLEW_AGENT"

// agentName is the name of the agent binary, without the .exe of Windows.
const agentName = "claude"

// Find returns the absolute path of the agent binary, without starting it. If explicit is not
// empty, it is the path of the binary, or a bare name to look up in PATH. If explicit is empty, the
// variable CLEW_AGENT is used in the same way. If both are empty, Find looks in PATH and then in
// the directories that installers use. It skips directories of PATH that are not absolute.
//
// looked lists the places where Find looked, in order, up to the place where it found the binary;
// it is meant to be shown to a user. An error always means that there is no binary to start.
func Find(explicit string) (path string, looked []string, err error) {
	f := &finder{windows: runtime.GOOS == "windows", getenv: os.Getenv, stat: os.Stat, readDir: os.ReadDir}
	path, err = f.find(explicit)
	return path, f.looked, err
}

// A finder looks for the agent binary. Its functions stand for the system, so that tests can
// replace it.
type finder struct {
	windows bool
	getenv  func(name string) string
	stat    func(path string) (fs.FileInfo, error)
	readDir func(path string) ([]fs.DirEntry, error)

	looked []string
}

func (f *finder) find(explicit string) (string, error) {
	if explicit != "" {
		return f.named("", explicit)
	}
	if name := f.getenv(agentVariable); name != "" {
		return f.named(agentVariable+"=", name)
	}
	f.looked = append(f.looked, "PATH")
	if path := f.inPath(agentName); path != "" {
		return path, nil
	}
	if path := f.installed(); path != "" {
		return path, nil
	}
	return "", errors.New("process: the agent binary was not found")
}

// named returns the binary that the caller or a variable asks for. It looks for no other one.
func (f *finder) named(prefix, name string) (path string, err error) {
	fault := ""
	if filepath.Base(name) == name {
		if path = f.inPath(name); path == "" {
			fault = "not in PATH"
		}
	} else {
		if path, err = filepath.Abs(name); err != nil {
			return "", fmt.Errorf("process: %s%s: %w", prefix, name, err)
		}
		fault = f.fault(path)
	}
	if fault != "" {
		f.looked = append(f.looked, fmt.Sprintf("%s%s (%s)", prefix, name, fault))
		return "", fmt.Errorf("process: the agent binary was not found: %s%s: %s", prefix, name, fault)
	}
	f.looked = append(f.looked, prefix+name)
	return path, nil
}

// inPath returns the binary of that name in a directory of PATH, or "".
func (f *finder) inPath(name string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(f.getenv("PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, f.executable(name)); f.fault(path) == "" {
			return path
		}
	}
	if !f.windows || name != agentName {
		return ""
	}
	// npm installs a shell script, which can't be started, next to the package with the binary.
	for _, dir := range dirs {
		if path := filepath.Join(dir, npmPackage); f.fault(path) == "" {
			return path
		}
	}
	return ""
}

// executable returns the name of the file that the system can run.
func (f *finder) executable(name string) string {
	if f.windows && filepath.Ext(name) == "" {
		return name + ".exe"
	}
	return name
}

// fault returns why the file can't be started, or "".
func (f *finder) fault(path string) string {
	info, err := f.stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noSuchFile
	case err != nil:
		return withoutPath(err).Error()
	case info.IsDir():
		return "a directory"
	case !f.windows && info.Mode()&0o111 == 0:
		return "not executable"
	}
	return ""
}

const noSuchFile = "no such file"

// npmPackage is the binary in the package that npm installs on Windows, relative to the directory
// of npm's scripts.
var npmPackage = filepath.Join("node_modules", "@anthropic-ai", "claude-code", "bin", "claude.exe")

// installed returns the first binary that is where installers put it, or "".
func (f *finder) installed() string {
	if f.windows {
		return f.first(f.windowsPlaces())
	}
	home := f.dir("HOME")
	if path := f.first(unixPlaces(home)); path != "" || home == "" {
		return path
	}
	return f.newestNode(filepath.Join(home, ".nvm", "versions", "node"))
}

// unixPlaces lists where the agent is installed on Unix; home may be "".
func unixPlaces(home string) []string {
	places := []string{
		"~/.local/bin", "~/.claude/local", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin",
		"/home/linuxbrew/.linuxbrew/bin", "~/node_modules/.bin", "~/.yarn/bin", "~/.bun/bin", "~/.volta/bin",
	}
	var paths []string
	for _, dir := range places {
		below, inHome := strings.CutPrefix(dir, "~")
		if inHome && home == "" {
			continue
		}
		if inHome {
			dir = home + below
		}
		paths = append(paths, filepath.Join(dir, agentName))
	}
	return paths
}

func (f *finder) windowsPlaces() []string {
	var paths []string
	if home := f.dir("USERPROFILE"); home != "" {
		paths = append(paths, filepath.Join(home, ".local", "bin", "claude.exe"))
	}
	if data := f.dir("APPDATA"); data != "" {
		paths = append(paths, filepath.Join(data, "npm", npmPackage))
	}
	return paths
}

// dir returns the absolute path that a variable holds, or "".
func (f *finder) dir(variable string) string {
	if dir := f.getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// first returns the first of the paths that can be started, or "".
func (f *finder) first(paths []string) string {
	for _, path := range paths {
		place, fault := path, f.fault(path)
		if fault != "" && fault != noSuchFile {
			place += " (" + fault + ")"
		}
		f.looked = append(f.looked, place)
		if fault == "" {
			return path
		}
	}
	return ""
}

// newestNode returns the agent of the newest version of Node.js below dir that has one, or "".
func (f *finder) newestNode(dir string) string {
	f.looked = append(f.looked, filepath.Join(dir, "*", "bin", agentName))
	versions, err := f.readDir(dir)
	if err != nil {
		return ""
	}
	slices.SortFunc(versions, func(a, b fs.DirEntry) int {
		return cmp.Or(version.Compare(b.Name(), a.Name()), strings.Compare(b.Name(), a.Name()))
	})
	for _, node := range versions {
		if path := filepath.Join(dir, node.Name(), "bin", agentName); f.fault(path) == "" {
			return path
		}
	}
	return ""
}
