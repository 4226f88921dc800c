// Package config has the settings of the clew program: what there is to set, and
// what files and variables say about it.
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
)

// Places are where settings are looked for.
type Places struct {
	// File is the one file that is read, if it is set. It may set everything.
	File string
	// Project, User and System are the files of which the first one that exists is read otherwise. An empty one is left
	// out.
	// That of the project may have come with somebody else's files, and can't set everything: see [Setting.Personal].
	Project, User, System string
	// Home is what ~ stands for in paths.
	Home string
	// Getenv returns the value of a variable.
	Getenv func(name string) string
}

// A Config is what was found.
type Config struct {
	// File is the file that was read, or "" if there is none.
	File string
	// IsProject says that File is that of the project.
	IsProject bool
	// PassedOver are files that exist and were not read, since another one comes first.
	PassedOver []string
	// Values are the settings that something was said about, by key.
	Values map[string]Value
	// Problems are what is wrong, in the order of the file, then with variables, up to 20. What they are about is not in
	// Values.
	Problems []Problem
}

// A Value is what a setting was set to.
type Value struct {
	Setting *Setting
	// Texts are the elements of a list, or the one text of anything else.
	Texts []string
	Origin
}

// An Origin is where a value comes from: a place in a file, or a variable.
type Origin struct {
	File         string
	Line, Column int
	Variable     string
}

// String returns the origin for people to read.
func (o Origin) String() string {
	switch {
	case o.Variable != "":
		return o.Variable
	case o.Line > 0:
		return o.File + ":" + strconv.Itoa(o.Line)
	}
	return o.File
}

// A Problem is something that is wrong with a file or a variable. Its texts may quote what stands there.
type Problem struct {
	Origin
	Reason string
	// Hint says what to do about it, or is "".
	Hint string
}

func (p Problem) Error() string {
	where := p.String()
	if p.Line > 0 {
		where += ":" + strconv.Itoa(p.Column)
	}
	return where + ": " + p.Reason
}

// Load reads the file and the variables. Variables win over the file.
func Load(places Places) *Config {
	c := &Config{Values: map[string]Value{}}
	c.loadFile(places)
	c.loadVariables(places.Getenv)
	return c
}

func (c *Config) loadFile(places Places) {
	if places.File != "" {
		c.File = places.File
		c.read(places)
		return
	}
	project := places.Project
	if sameFile(project, places.User) {
		project = ""
	}
	for _, path := range []string{project, places.User, places.System} {
		switch {
		case path == "" || !exists(path):
		case c.File != "":
			c.PassedOver = append(c.PassedOver, path)
		default:
			c.File, c.IsProject = path, path == project
		}
	}
	if c.File != "" {
		c.read(places)
	}
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// exists reports whether there is something of that name. What can't be looked at is taken to exist, and reading it
// says why it can't be.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

func (c *Config) read(places Places) {
	data, err := readFile(c.File, places.File != "")
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		c.complain(Origin{File: c.File}, "it cannot be read: "+err.Error(), "")
		return
	}
	p := &parser{config: c, file: c.File, home: places.Home}
	p.parse(data)
}

const (
	// maxFile is how long a file may be. The parser takes four times as long for twice as much of what is no YAML.
	maxFile = 16 << 10
	// maxProblems is how many problems are kept.
	maxProblems = 20
)

// readFile reads a file of settings. One that nobody has asked for has to be a regular one: others may never end.
func readFile(path string, named bool) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder")
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

// loadVariables takes what variables say. An empty one says nothing.
func (c *Config) loadVariables(getenv func(string) string) {
	for i := range table {
		s := &table[i]
		text := getenv(s.Variable)
		if text == "" {
			continue
		}
		at := Origin{Variable: s.Variable}
		texts := s.split(text)
		if reason := s.fault(texts); reason != "" && !s.Shared {
			delete(c.Values, s.Key)
			c.complain(at, reason, "")
			continue
		}
		c.Values[s.Key] = Value{Setting: s, Texts: texts, Origin: at}
	}
}

// inPlace returns a path of a file of settings as it is meant: ~ is the home, and a relative path begins in the folder
// of the file.
func inPlace(path, file, home string) string {
	if rest, ok := cutHome(path); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	joined := filepath.Join(filepath.Dir(file), path)
	if !hasSeparator(joined) {
		return "." + string(filepath.Separator) + joined // a program of that name would be looked for in PATH
	}
	return joined
}

func cutHome(path string) (rest string, ok bool) {
	if path == "~" {
		return "", true
	}
	if len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return path[2:], true
	}
	return "", false
}
