package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

// startUps is the number of starts that are measured within a round.
const startUps = 25

// searched is a word that the texts of the corpus have in many places, and searchedPhrase is a
// phrase of such words.
const (
	searched       = "cache"
	searchedPhrase = "fmt.Errorf"
)

// searchedTwo and searchedFive are several such words.
var (
	searchedTwo  = []string{"search", searched, "error"}
	searchedFive = []string{"search", searched, "error", "handlers", "timeouts", "tokens"}
)

// A use is one command line of the program, in several rounds.
type use struct {
	Name    string  `json:"name"`
	First   float64 `json:"first_seconds"` // until the first byte of the output, median
	Lines   float64 `json:"lines_seconds"` // until the first lines, median
	Seconds float64 `json:"seconds"`       // until the end, median
	PeakMB  float64 `json:"peak_mb"`       // the highest
	// Share is the size of the index as a share of the transcripts, if the use builds one.
	Share float64 `json:"index_share,omitempty"`

	job    string // programJob if it is ""
	config string // the agent's directory with the sessions
	args   []string
	times  int
	before func() error
	check  func(figures) error
	rounds []figures
}

// The places of the uses in the list.
const (
	programStart = iota
	programHelp
	programList
	programListAll
	programListMany
	programShow
	programPager
	programIndex
	programSearch
	programPhrase
	programTwo
	programFive
)

// A program is the built binary with its input.
type program struct {
	dir, path string
	truth     *corpus.Truth
	crowded   int // how many sessions very many are
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
	list[programIndex].Share, err = p.indexShare()
	return list, err
}

// indexShare returns the size of the search index as a share of the transcripts.
func (p *program) indexShare() (float64, error) {
	paths, err := filepath.Glob(filepath.Join(p.cache(), "clew", "search-*.db"))
	if err != nil || len(paths) != 1 {
		return 0, fmt.Errorf("%d indexes, not one: %w", len(paths), err)
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / float64(p.truth.Bytes), nil
}

func newProgram(ctx context.Context, dir string, o options) (*program, error) {
	p := &program{dir: dir, path: filepath.Join(dir, "clew.exe"), crowded: o.crowd} // every system runs this name
	fmt.Fprintln(os.Stderr, "building the program, and making transcripts for it")
	build := exec.CommandContext(ctx, "go", "build", "-o", p.path, "github.com/clewdev/clew/cmd/clew")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	var err error
	p.truth, err = corpus.Projects(filepath.Join(p.agent(), "projects"), o.seed, o.projectsSize)
	if err == nil {
		err = multiply(o.crowd, filepath.Join(p.agent(), "projects"), filepath.Join(p.crowd(), "projects"))
	}
	return p, err
}

// agent and crowd are the directories of agents with some and with very many sessions.
func (p *program) agent() string { return filepath.Join(p.dir, "agent") }
func (p *program) crowd() string { return filepath.Join(p.dir, "crowd") }

// multiply writes n copies of the smallest session, each with its own ID and project, an hour apart.
func multiply(n int, from, to string) error {
	id, text, err := smallest(from)
	if err != nil {
		return err
	}
	for i := range n {
		copied := fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i)*2654435761, i)
		dir := filepath.Join(to, fmt.Sprintf("-home-dev-crowd-%02d", i%50))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		path := filepath.Join(dir, copied+".jsonl")
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(id), []byte(copied)), 0o600); err != nil {
			return err
		}
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			return err
		}
	}
	return nil
}

// smallest returns the ID and the text of the smallest session in a directory of projects.
func smallest(projects string) (id string, text []byte, err error) {
	found, err := filepath.Glob(filepath.Join(projects, "*", "*.jsonl"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		if text == nil || len(data) < len(text) {
			id, text = strings.TrimSuffix(filepath.Base(path), ".jsonl"), data
		}
	}
	return id, text, nil
}

// environment lets the program find the transcripts and nothing of the user.
func (p *program) environment(config string) []string {
	return append(os.Environ(), "CLAUDE_CONFIG_DIR="+config, "HOME="+p.dir, "USERPROFILE="+p.dir,
		"XDG_CACHE_HOME="+p.cache(), "LocalAppData="+p.cache(), "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config"))
}

func (p *program) cache() string { return filepath.Join(p.dir, "cache") }

func (p *program) uses() []use {
	id := strings.TrimSuffix(filepath.Base(p.truth.Largest), ".jsonl")
	n := len(p.truth.Sessions)
	screen := screenJob
	if runtime.GOOS != "linux" {
		screen = programJob // there is no terminal for it
	}
	return []use{
		programStart: {Name: "clew version", args: []string{"version"}, times: startUps},
		programHelp:  {Name: "clew run --help", args: []string{"run", "--help"}, check: prints},
		programList: {Name: fmt.Sprintf("clew ls --all, %d sessions, at a terminal", n), job: screen,
			args: []string{"ls", "--all"}, check: prints},
		programListAll: {Name: fmt.Sprintf("clew ls --all --json, %d sessions", n), args: []string{"ls", "--all", "--json"},
			check: counts(n)},
		programListMany: {Name: fmt.Sprintf("clew ls --all, %d sessions, at a terminal", p.crowded), job: screen,
			config: p.crowd(), args: []string{"ls", "--all"}, check: prints},
		programShow:  {Name: "clew show, largest session", args: []string{"show", id}, check: prints},
		programPager: {Name: "clew show, largest session, in a pager", job: screen, args: []string{"show", id}, check: prints},
		programIndex: {Name: "clew search, first time", args: []string{"search", searched},
			before: func() error { return os.RemoveAll(p.cache()) }, check: prints},
		programSearch: {Name: "clew search", args: []string{"search", searched}, check: prints},
		programPhrase: {Name: "clew search, a phrase", args: []string{"search", searchedPhrase}, check: prints},
		programTwo:    {Name: "clew search, two words", args: searchedTwo, check: prints},
		programFive:   {Name: "clew search, five words", args: searchedFive, check: prints},
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
		f, err := inChild(ctx, child{
			job: cmp.Or(u.job, programJob), path: p.path, args: u.args, env: p.environment(cmp.Or(u.config, p.agent())),
		})
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
	var first, lines, all []float64
	for _, f := range u.rounds {
		first = append(first, f.First.Seconds())
		lines = append(lines, f.Lines.Seconds())
		all = append(all, f.Elapsed.Seconds())
		u.PeakMB = max(u.PeakMB, float64(f.Peak)/1e6)
	}
	u.First, u.Lines, u.Seconds = benchreport.Median(first), benchreport.Median(lines), benchreport.Median(all)
}

// judgeProgram fills in the goals for the measurements.
func (r *report) judgeProgram() {
	list := r.Program
	r.Goals.AtMost("clew version", 30, "ms", 1000*list[programStart].Seconds)
	r.Goals.AtMost("clew ls", 100, "ms", 1000*list[programList].Seconds)
	r.Goals.AtMost("clew ls --json", 150, "ms", 1000*list[programListAll].Seconds)
	r.Goals.AtMost(list[programListMany].Name+", first lines", 150, "ms", 1000*list[programListMany].Lines)
	r.Goals.AtMost("clew show, until it begins to print", 100, "ms", 1000*list[programShow].First)
	r.Goals.AtMost("clew show, until it begins in the pager", 100, "ms", 1000*list[programPager].First)
	r.Goals.AtMost("clew search", 50, "ms", 1000*list[programSearch].Seconds)
	r.Goals.AtMost("clew search, two words", 50, "ms", 1000*list[programTwo].Seconds)
	r.Goals.AtMost("clew search, five words", 50, "ms", 1000*list[programFive].Seconds)
	r.Goals.AtMost("clew search, index against transcripts", 15, "%", 100*list[programIndex].Share)
	r.Goals.AtMost("clew search, first time", 6, "s", list[programIndex].Seconds)
	r.Goals.AtMost("clew search, first time, memory", 300, "MB", list[programIndex].PeakMB)
}

func (r *report) writeProgram(b *strings.Builder) {
	benchreport.Table(b, fmt.Sprintf("| program | ms to the first byte | ms to %d lines | ms to the end | peak MB |", firstLines), r.Program, func(u use) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f |", u.Name, 1000*u.First, 1000*u.Lines, 1000*u.Seconds, u.PeakMB)
	})
}
