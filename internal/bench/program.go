package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

// startUps is how often a start is measured within a round.
const startUps = 25

// searched is a word that the texts of the corpus have in many places, and searchedPhrase is a
// phrase of such words.
const (
	searched       = "cache"
	searchedPhrase = "fmt.Errorf"
)

// A use is one command line of the program, in several rounds.
type use struct {
	Name    string  `json:"name"`
	First   float64 `json:"first_seconds"` // until the first byte of the output, median
	Seconds float64 `json:"seconds"`       // until the end, median
	PeakMB  float64 `json:"peak_mb"`       // the highest

	args   []string
	times  int
	before func() error
	check  func(figures) error
	rounds []figures
}

// The places of the uses in the list.
const (
	programStart = iota
	programList
	programShow
	programIndex
	programSearch
	programPhrase
)

// A program is the built binary, and what it is let loose on.
type program struct {
	dir, path string
	truth     *corpus.Truth
}

// measureProgram builds the program and measures how long its users wait.
func measureProgram(ctx context.Context, o options) ([]use, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := newProgram(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	list := p.uses()
	for range o.transcriptRounds {
		for i := range list {
			if err := p.run(ctx, &list[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", list[i].Name, err)
			}
		}
	}
	for i := range list {
		list[i].sum()
	}
	return list, nil
}

func newProgram(ctx context.Context, dir string, o options) (*program, error) {
	p := &program{dir: dir, path: filepath.Join(dir, "clew.exe")} // every system runs this name
	fmt.Fprintln(os.Stderr, "building the program, and making transcripts for it")
	build := exec.CommandContext(ctx, "go", "build", "-o", p.path, "github.com/clewdev/clew/cmd/clew")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	var err error
	p.truth, err = corpus.Projects(filepath.Join(dir, "agent", "projects"), o.seed, o.projectsSize)
	return p, err
}

// environment lets the program find the transcripts and nothing of the user.
func (p *program) environment() []string {
	return append(os.Environ(), "CLAUDE_CONFIG_DIR="+filepath.Join(p.dir, "agent"), "HOME="+p.dir, "USERPROFILE="+p.dir,
		"XDG_CACHE_HOME="+p.cache(), "LocalAppData="+p.cache(), "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config"))
}

func (p *program) cache() string { return filepath.Join(p.dir, "cache") }

func (p *program) uses() []use {
	id := strings.TrimSuffix(filepath.Base(p.truth.Largest), ".jsonl")
	n := len(p.truth.Sessions)
	return []use{
		programStart: {Name: "clew version", args: []string{"version"}, times: startUps},
		programList: {Name: fmt.Sprintf("clew ls, %d sessions", n), args: []string{"ls", "--all", "--json"},
			check: counts(n)},
		programShow: {Name: "clew show, largest session", args: []string{"show", id}, check: prints},
		programIndex: {Name: "clew search, first time", args: []string{"search", searched},
			before: func() error { return os.RemoveAll(p.cache()) }, check: prints},
		programSearch: {Name: "clew search", args: []string{"search", searched}, check: prints},
		programPhrase: {Name: "clew search, a phrase", args: []string{"search", searchedPhrase}, check: prints},
	}
}

// prints checks that there was something to see.
func prints(f figures) error {
	if f.Count == 0 {
		return errors.New("it prints nothing")
	}
	return nil
}

// run makes use of the program once, or as often as a round is meant to.
func (p *program) run(ctx context.Context, u *use) error {
	for range max(u.times, 1) {
		if u.before != nil {
			if err := u.before(); err != nil {
				return err
			}
		}
		f, err := inChild(ctx, child{job: programJob, path: p.path, args: u.args, env: p.environment()})
		if err == nil && u.check != nil {
			err = u.check(f)
		}
		if err != nil {
			return err
		}
		u.rounds = append(u.rounds, f)
	}
	return nil
}

// sum makes the figures of the rounds.
func (u *use) sum() {
	if len(u.rounds) == 0 {
		return
	}
	var first, all []float64
	for _, f := range u.rounds {
		first = append(first, f.First.Seconds())
		all = append(all, f.Elapsed.Seconds())
		u.PeakMB = max(u.PeakMB, float64(f.Peak)/1e6)
	}
	u.First, u.Seconds = benchreport.Median(first), benchreport.Median(all)
}

// judgeProgram fills in the goals for what was measured.
func (r *report) judgeProgram() {
	list := r.Program
	r.Goals.AtMost("clew version", 30, "ms", 1000*list[programStart].Seconds)
	r.Goals.AtMost("clew ls", 0.15, "s", list[programList].Seconds)
	r.Goals.AtMost("clew show, until it begins to print", 0.3, "s", list[programShow].First)
	r.Goals.AtMost("clew search", 50, "ms", 1000*list[programSearch].Seconds)
	r.Goals.AtMost("clew search, first time", 6, "s", list[programIndex].Seconds)
	r.Goals.AtMost("clew search, first time, memory", 300, "MB", list[programIndex].PeakMB)
}

func (r *report) writeProgram(b *strings.Builder) {
	benchreport.Table(b, "| program | ms to the first byte | ms to the end | peak MB |", r.Program, func(u use) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f |", u.Name, 1000*u.First, 1000*u.Seconds, u.PeakMB)
	})
}
