// Package settings resolves the settings that an agent would start with in a directory, without an
// agent, and reports the origin of each.
//
//	resolved, err := settings.Resolve(&settings.Options{Dir: "/home/me/code"})
//	if err != nil {
//		return err
//	}
//	for name, setting := range resolved.Settings {
//		fmt.Println(name, setting.Value, setting.From)
//	}
//
// The sources are, each stronger than the one before: the user's file, the project's, the project's
// local one, [Options.Flag], and the files of an administrator. Objects are merged, lists are
// joined without repeating texts and numbers, and of other values the strongest source wins.
//
// A running agent may use less. It leaves out a file with a value of the wrong type, and some
// settings of a project that nobody trusted. It also knows settings that an administrator delivers
// in other ways: from a server, by a profile of macOS or the registry of Windows, or by a program.
// With an agent, screens.Settings shows what it uses.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Source is a source of settings. Those of files have the names of clew.SettingSource.
type Source string

// The sources, the weakest first.
const (
	User    Source = "user"    // settings.json in the directory of the agent's settings
	Project Source = "project" // .claude/settings.json in the working directory
	Local   Source = "local"   // .claude/settings.local.json there
	Flag    Source = "flag"    // Options.Flag
	Managed Source = "managed" // of an administrator
)

// Options select the settings to resolve. Nil and the zero value mean the settings of an agent that
// is started in the working directory of this process.
type Options struct {
	// Dir is the working directory of the agent. Empty means the directory of this process.
	Dir string
	// ConfigDir is the directory of the agent's settings. Empty means the result of [Dir].
	ConfigDir string
	// Sources are the sources among [User], [Project] and [Local] that the agent reads, as in
	// clew.Options.Settings.Sources. Nil means all, empty none.
	Sources []Source
	// Flag are settings in a JSON object, as in clew.Options.Settings.JSON, or "".
	Flag wire.JSON
	// ManagedDir is the directory of the administrator's files. Empty means the system's.
	ManagedDir string
}

// Resolved are settings that were resolved.
type Resolved struct {
	// Effective are all settings together, a JSON object.
	Effective wire.JSON
	// Settings are the members of Effective by name.
	Settings map[string]Setting
	// Files are the files that exist, and the flag, the weakest first.
	Files []File
}

// A Setting is a member of the settings.
type Setting struct {
	// Value is the value, of all sources together.
	Value wire.JSON
	// From are the sources that have it, the weakest first. Of a value that is neither an object
	// nor a list, the last one counts.
	From []Origin
}

// An Origin is the origin of a setting.
type Origin struct {
	Source Source // kind of the source
	Path   string // path of the file, or "" for the flag
}

// String returns the source and the path.
func (o Origin) String() string {
	if o.Path == "" {
		return string(o.Source)
	}
	return string(o.Source) + " " + o.Path
}

// A File is one of the sources.
type File struct {
	Origin
	// Settings are its content, a JSON object, or "" if Err is set.
	Settings wire.JSON
	// Err explains why the file is left out, or is nil.
	Err error
}

// Resolve reads the files and merges them. A file that can't be read, or is not a JSON object, is
// left out: its [File.Err] explains why. The error is about the options, or about directories that
// can't be found. opts may be nil.
func Resolve(opts *Options) (*Resolved, error) {
	if opts == nil {
		opts = new(Options)
	}
	files, err := opts.files()
	if err != nil {
		return nil, err
	}
	merged, from := map[string]any{}, map[string][]Origin{}
	for _, f := range files {
		if f.Err != nil {
			continue
		}
		content, err := decode([]byte(f.Settings))
		if err != nil {
			return nil, err // it was decoded before
		}
		for name := range content {
			from[name] = append(from[name], f.Origin)
		}
		mergeInto(merged, content)
	}
	return newResolved(merged, from, files)
}

func newResolved(merged map[string]any, from map[string][]Origin, files []File) (*Resolved, error) {
	r := &Resolved{Settings: make(map[string]Setting, len(merged)), Files: files}
	all, err := encode(merged)
	if err != nil {
		return nil, err
	}
	r.Effective = all
	for name, value := range merged {
		text, err := encode(value)
		if err != nil {
			return nil, err
		}
		r.Settings[name] = Setting{Value: text, From: from[name]}
	}
	return r, nil
}

// encode writes a value as JSON, with <, > and & as they are.
func encode(value any) (wire.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	return wire.JSON(bytes.TrimSpace(b.Bytes())), nil
}

// files returns the sources that exist, the weakest first.
func (o *Options) files() ([]File, error) {
	var dir, config string
	var err error
	if o.reads(Project) || o.reads(Local) {
		if dir, err = filepath.Abs(o.Dir); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	if o.reads(User) {
		if config, err = o.configDir(); err != nil {
			return nil, err
		}
	}
	for _, source := range o.Sources {
		if source != User && source != Project && source != Local {
			return nil, fmt.Errorf("settings: Options.Sources: %q is not %s, %s or %s", source, User, Project, Local)
		}
	}
	var files []File
	for _, origin := range []Origin{
		{User, filepath.Join(config, FileName)},
		{Project, filepath.Join(dir, FolderName, FileName)},
		{Local, filepath.Join(dir, FolderName, LocalFileName)},
	} {
		if o.reads(origin.Source) {
			files = append(files, readFile(origin)...)
		}
	}
	if o.Flag != "" {
		if _, err := decode([]byte(o.Flag)); err != nil {
			return nil, fmt.Errorf("settings: Options.Flag: %w", err)
		}
		files = append(files, File{Origin: Origin{Source: Flag}, Settings: o.Flag})
	}
	return append(files, o.managedFiles()...), nil
}

func (o *Options) reads(source Source) bool {
	return o.Sources == nil || slices.Contains(o.Sources, source)
}

func (o *Options) configDir() (string, error) {
	if o.ConfigDir != "" {
		return o.ConfigDir, nil
	}
	return Dir()
}

// The names of the agent's directory and files, in the home directory and in projects.
const (
	FolderName    = ".claude"
	FileName      = "settings.json"
	LocalFileName = "settings.local.json"
)

// Dir returns the directory of the user's settings, which need not exist: the first that
// CLAUDE_CONFIG_DIR names, or else .claude in the home directory. Like the agent, and unlike
// [sessions.Roots], it takes the name as it is: a "~" is not the home directory, and a directory
// named projects is not the directory of the sessions.
//
// [sessions.Roots]: https://pkg.go.dev/github.com/clewdev/clew/sessions#Roots
func Dir() (string, error) {
	if dirs := sessionfile.ConfigDirs(); len(dirs) > 0 {
		return dirs[0], nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	return filepath.Join(home, FolderName), nil
}

// managedFiles returns the files of an administrator: one, and the files of a directory beside it,
// in the order of their names.
func (o *Options) managedFiles() []File {
	dir := o.ManagedDir
	if dir == "" {
		dir = systemDir()
	}
	files := readFile(Origin{Managed, filepath.Join(dir, "managed-settings.json")})
	more := filepath.Join(dir, "managed-settings.d")
	entries, err := os.ReadDir(more)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		files = append(files, File{Origin: Origin{Managed, more}, Err: fmt.Errorf("settings: %w", err)})
	}
	for _, entry := range entries { // sorted by name
		if filepath.Ext(entry.Name()) == ".json" {
			files = append(files, readFile(Origin{Managed, filepath.Join(more, entry.Name())})...)
		}
	}
	return files
}

// systemDir returns the directory of the administrator's files.
func systemDir() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	}
	return "/etc/claude-code"
}

// maxBytes is the size of the largest file that is read.
const maxBytes = 16 << 20

// readFile returns a file, or none if it does not exist.
func readFile(origin Origin) []File {
	f := File{Origin: origin}
	text, err := files.ReadSmall(origin.Path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if _, err = decode(text); err != nil {
			err = fmt.Errorf("%s: %w", origin.Path, err)
		}
	}
	if err != nil {
		f.Err = fmt.Errorf("settings: %w", err)
		return []File{f}
	}
	f.Settings = wire.JSON(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))))
	return []File{f}
}

// decode reads a JSON object. Numbers keep their text. Errors quote nothing: settings may contain secrets.
func decode(text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var value json.RawMessage
	if err := json.Unmarshal(text, &value); err != nil {
		line := 1
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line += bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		}
		return nil, fmt.Errorf("invalid JSON: syntax error in line %d", line)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || object == nil {
		return nil, errors.New("not a JSON object")
	}
	return object, nil
}

// mergeInto merges stronger settings into weaker ones.
func mergeInto(weaker, stronger map[string]any) {
	for name, value := range stronger {
		weaker[name] = merge(weaker[name], value)
	}
}

// merge returns a stronger value, together with a weaker one of the same kind.
func merge(weaker, stronger any) any {
	switch value := stronger.(type) {
	case map[string]any:
		if object, ok := weaker.(map[string]any); ok {
			mergeInto(object, value)
			return object
		}
	case []any:
		if list, ok := weaker.([]any); ok {
			return join(list, value)
		}
	}
	return stronger
}

// join adds the elements of a list to another one, except texts, numbers and the like that it has.
func join(list, more []any) []any {
	known := map[any]bool{}
	for _, element := range list {
		if isScalar(element) {
			known[element] = true
		}
	}
	for _, element := range more {
		if isScalar(element) {
			if known[element] {
				continue
			}
			known[element] = true
		}
		list = append(list, element)
	}
	return list
}

func isScalar(value any) bool { return value == nil || reflect.TypeOf(value).Comparable() }
