package sessions

import (
	"bytes"
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/files"
)

// A RunningSession is a session that an agent has open on this machine, as the agent describes it in
// a file. Older agents don't write all of it.
type RunningSession struct {
	// ID is the ID of the session, as in [SessionInfo.ID]. Its transcript may not be there yet.
	ID string
	// PID is the ID of the agent's process.
	PID int
	// Root is the agent's directory of settings and sessions: see [Roots].
	Root string
	// CWD is the working directory of the agent.
	CWD string
	// Name is a short name that the agent or the user gave to the process, such as "greet-1a".
	Name string
	// Version is the version of the agent, such as "2.1.325".
	Version string
	// Entrypoint is the way the agent was started: "cli" in a terminal, and something like
	// "sdk-cli" by a program, such as with package clew.
	Entrypoint string
	// Status is the agent's state: "busy" while it works, "waiting" while it waits for the user,
	// and "idle" between turns. It may be another word, or "" if it is not known.
	Status string
	// WaitingFor is the reason for waiting, such as "permission prompt", if Status is "waiting".
	WaitingFor string
	// Started is the time the agent was started, and StatusSince the time it wrote Status.
	Started, StatusSince time.Time
}

// Running returns the sessions that agents have open, the latest started first. An agent counts if
// its process exists now: files that a killed agent left behind don't. Agents in another container
// or on another machine which share the directory are not listed.
//
//	running, err := sessions.Running(ctx)
//	for _, r := range running {
//		fmt.Println(r.ID, r.Status, r.WaitingFor)
//	}
//
// It looks in the given directories of agents, or in all of [Roots] if there are none. A file of a
// process that can't be read costs only itself: the error names it, and comes with the others.
func Running(ctx context.Context, roots ...string) ([]RunningSession, error) {
	if len(roots) == 0 {
		var err error
		if roots, err = Roots(); err != nil {
			return nil, err
		}
	}
	var running []RunningSession
	var errs []error
	for _, root := range roots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := runningIn(root)
		running, errs = append(running, found...), append(errs, err)
	}
	slices.SortStableFunc(running, func(a, b RunningSession) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.PID, a.PID))
	})
	return running, errors.Join(errs...)
}

// runningIn returns the sessions that agents of one root have open.
func runningIn(root string) ([]RunningSession, error) {
	dir := filepath.Join(root, "sessions")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var running []RunningSession
	var errs []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".json")
		pid, err := strconv.Atoi(name)
		if !ok || err != nil || pid <= 0 {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		f, err := readProcessFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the agent has just ended
		case err != nil && !(&processFile{PID: pid}).alive(): // a killed agent left it behind
		case err != nil:
			errs = append(errs, fmt.Errorf("sessions: %w", err))
		case strconv.Itoa(f.PID) == name && f.SessionID != "" && f.alive():
			running = append(running, f.session(root))
		}
	}
	return running, errors.Join(errs...)
}

// A processFile is an agent's record of its process.
type processFile struct {
	PID             int     `json:"pid"`
	SessionID       string  `json:"sessionId"`
	CWD             string  `json:"cwd"`
	StartedAt       float64 `json:"startedAt"` // milliseconds
	ProcStart       string  `json:"procStart"` // as the system counts it
	PIDDomain       string  `json:"pidDomain"` // the system, machine and namespace in which PID means something
	Version         string  `json:"version"`
	Entrypoint      string  `json:"entrypoint"`
	Name            string  `json:"name"`
	Status          string  `json:"status"`
	StatusUpdatedAt float64 `json:"statusUpdatedAt"`
	WaitingFor      string  `json:"waitingFor"`
}

// maxProcessFile is more than such a file has.
const maxProcessFile = 64 << 10

func readProcessFile(path string) (*processFile, error) {
	data, err := files.ReadSmall(path, maxProcessFile)
	if err != nil {
		return nil, err
	}
	f := new(processFile)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *processFile) session(root string) RunningSession {
	r := RunningSession{
		ID: f.SessionID, PID: f.PID, Root: root, CWD: f.CWD, Name: f.Name, Version: f.Version, Entrypoint: f.Entrypoint,
		Status: f.Status, Started: milliseconds(f.StartedAt), StatusSince: milliseconds(f.StatusUpdatedAt),
	}
	if f.Status == "waiting" {
		r.WaitingFor = f.WaitingFor
	}
	return r
}

// milliseconds returns a time of JavaScript, or the zero time if it is none.
func milliseconds(n float64) time.Time {
	if n <= 0 || n > 8.64e15 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n)).UTC()
}

// alive reports whether the process exists, and wrote the file: systems reuse process IDs.
func (f *processFile) alive() bool {
	if runtime.GOOS != "linux" {
		return exists(f.PID)
	}
	if namespace, err := os.Readlink("/proc/self/ns/pid"); err == nil && f.PIDDomain != "" &&
		!strings.HasSuffix(f.PIDDomain, ":"+namespace) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.PID))
	return err == nil && (f.ProcStart == "" || startOf(stat) == f.ProcStart)
}

// startOf returns when a process started, by its file stat: field 22 in clock ticks.
func startOf(stat []byte) string {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the third on; the second may have spaces
	const start = 22 - 3
	if len(fields) <= start {
		return ""
	}
	return string(fields[start])
}

// exists reports whether there is a process with that ID.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	if runtime.GOOS == "windows" {
		return p.Release() == nil // it was opened
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
