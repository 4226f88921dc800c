package sessionfile

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Existing returns a directory under the name by which it exists. The agent normalizes its path to
// composed characters, and some systems decompose them. The info is nil if the directory does not
// exist.
func Existing(dir string) (string, fs.FileInfo) {
	for _, dir := range []string{dir, norm.NFC.String(dir)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, info
		}
	}
	return dir, nil
}

// ConfigDirs returns the directories of agents that CLAUDE_CONFIG_DIR names, as it names them. If the
// whole value is an existing directory, a comma is part of its name.
func ConfigDirs() []string { return configDirs(os.Getenv("CLAUDE_CONFIG_DIR")) }

// AgentConfigDir returns the directory that an agent gets as CLAUDE_CONFIG_DIR. The value may name
// several for this program, of which an agent takes the first: it reads the value as one name.
func AgentConfigDir(value string) string {
	if dirs := configDirs(value); strings.Contains(value, ",") && len(dirs) > 0 {
		return dirs[0]
	}
	return value
}

func configDirs(value string) []string {
	names := []string{value}
	if _, info := Existing(value); info == nil {
		names = strings.Split(value, ",")
	}
	var dirs []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			dirs = append(dirs, name)
		}
	}
	return dirs
}
