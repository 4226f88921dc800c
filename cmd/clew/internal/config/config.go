// Package config reads the settings of the clew program from files and environment variables.
//
// One table has for each setting its type, its variable, the flag that it stands for, and how
// values are merged. Before a command runs, flags that were not given get their values from
// settings, so that a setting can do nothing that a flag can't.
//
// The files are read in the order of the machine, the user and the project. Variables override
// them, and flags override both. The project's file may come with someone else's repository. So it
// can't set anything that runs programs, widens what the agent may do or reads elsewhere, and it
// can only make a restriction of the user's file stricter. A looser value there is not an error,
// since the same file is valid for a user without that restriction; "clew config" lists it as
// unused.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/clewdev/clew/internal/files"
)

// Sources are the files and variables that settings are read from.
type Sources struct {
	// File is the only file that is read, if it is not empty. It may set everything.
	File string
	// Otherwise System, User and Project are read, if they exist. An empty name is skipped. User
	// overrides System. The project's file may come with someone else's repository: it can't set
	// everything, and can only restrict the others' values: see [Setting.Personal] and [Merge].
	Project, User, System string
	// Home replaces ~ in paths.
	Home string
	// Getenv returns the value of an environment variable, as os.Getenv does.
	Getenv func(name string) string
}

// A Config holds the settings that Load found.
type Config struct {
	// Files are the files that were read, in order: a later one overrides an earlier one or, if it
	// is the project's, restricts it.
	Files []string
	// Values are the settings that have a value, by key.
	Values map[string]Value
	// Ignored are values of the project's file that a stricter one overrides.
	Ignored []Ignored
	// Problems are the file errors, in order, then the variable errors, at most 20. Settings with a
	// problem are not in Values.
	Problems []Problem
}

// A Value is the value of a setting.
type Value struct {
	Setting *Setting
	// Texts are the elements of a list, or the one text of anything else.
	Texts []string
	Origin
	// Others are the origins of further parts of the value.
	Others []Origin
}

// An Origin is the source of a value: a position in a file, or a variable.
type Origin struct {
	File         string
	Line, Column int
	Variable     string
}

// String returns the origin as text for people.
func (o Origin) String() string {
	switch {
	case o.Variable != "":
		return o.Variable
	case o.Line > 0:
		return o.File + ":" + strconv.Itoa(o.Line)
	}
	return o.File
}

// A Problem is an error in a file or in a variable. Its texts may quote the file.
type Problem struct {
	Origin
	Reason string
	// Hint is a sentence on how to solve the problem, or "".
	Hint string
}

func (p Problem) Error() string {
	where := p.String()
	if p.Line > 0 {
		where += ":" + strconv.Itoa(p.Column)
	}
	return where + ": " + p.Reason
}

// Load reads the files and the variables. Variables override the files.
func Load(sources Sources) *Config {
	c := &Config{Values: map[string]Value{}}
	c.loadFiles(sources)
	c.loadVariables(sources.Getenv)
	return c
}

func (c *Config) loadFiles(sources Sources) {
	if sources.File != "" {
		c.read(&parser{config: c, file: sources.File, home: sources.Home}, true)
		return
	}
	project := sources.Project
	if sameFile(project, sources.User) {
		project = ""
	}
	for _, path := range []string{sources.System, sources.User, project} {
		if path != "" && exists(path) {
			c.read(&parser{config: c, file: path, home: sources.Home, project: path == project}, false)
		}
	}
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// exists reports whether a file exists. A file that can't be examined counts as existing, so that
// reading it returns the reason.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// read reads a file and adds its settings. If named is set, the user named the file.
func (c *Config) read(p *parser, named bool) {
	c.Files = append(c.Files, p.file)
	data, err := readFile(p.file, named)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		c.complain(Origin{File: p.file}, "it cannot be read: "+err.Error(), "")
		return
	}
	c.add(p.parse(data), p.project)
}

const (
	// maxFile is the longest file. For text that is not YAML, the parser takes four times as long
	// for twice the length.
	maxFile = 16 << 10
	// maxProblems is the number of problems that are kept.
	maxProblems = 20
)

// readFile reads a file of settings. Unless the user named it, it has to be a regular file: a
// device or a pipe may never end.
func readFile(path string, named bool) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !named && !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return data, err
}

func (c *Config) complain(at Origin, reason, hint string) {
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, Problem{Origin: at, Reason: reason, Hint: hint})
	}
}

// loadVariables sets the values of variables. An empty variable sets nothing.
func (c *Config) loadVariables(getenv func(string) string) {
	for i := range table {
		s := &table[i]
		text := getenv(s.Variable)
		if text == "" {
			continue
		}
		at := Origin{Variable: s.Variable}
		texts := s.split(text)
		if reason := s.problem(texts); reason != "" && !s.Shared {
			delete(c.Values, s.Key)
			c.complain(at, reason, "")
			continue
		}
		c.Values[s.Key] = Value{Setting: s, Texts: texts, Origin: at}
	}
}

// resolvePath resolves a path in a file of settings: ~ is the home directory, and a relative path
// is relative to the directory of the file.
func resolvePath(path, file, home string) string {
	path = files.ExpandHome(path, home)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	joined := filepath.Join(filepath.Dir(file), path)
	if !hasSeparator(joined) {
		return "." + string(filepath.Separator) + joined // without a separator, a program would be searched for in PATH
	}
	return joined
}
