package process

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// npmPackage is the binary in the package that npm installs, below the folder of npm's shims on Windows.
var npmPackage = filepath.Join("node_modules", "@anthropic-ai", "claude-code", "bin", "claude.exe")

// installed returns the first binary that is where installers put it, or "".
func (f *finder) installed() string {
	if f.windows {
		return f.first(f.windowsPlaces())
	}
	home := f.folder("HOME")
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
	if home := f.folder("USERPROFILE"); home != "" {
		paths = append(paths, filepath.Join(home, ".local", "bin", "claude.exe"))
	}
	if data := f.folder("APPDATA"); data != "" {
		paths = append(paths, filepath.Join(data, "npm", npmPackage))
	}
	return paths
}

// folder returns the absolute path that a variable holds, or "".
func (f *finder) folder(variable string) string {
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
	slices.SortFunc(versions, func(a, b fs.DirEntry) int { return compareVersions(b.Name(), a.Name()) })
	for _, version := range versions {
		if path := filepath.Join(dir, version.Name(), "bin", agentName); f.fault(path) == "" {
			return path
		}
	}
	return ""
}

// compareVersions orders names such as v18.20.4 by their numbers. What is not a number counts as 0.
func compareVersions(a, b string) int {
	return cmp.Or(slices.Compare(numbers(a), numbers(b)), strings.Compare(a, b))
}

func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, _ := strconv.Atoi(part)
		list = append(list, n)
	}
	return list
}
