package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/version"
)

// versionTimeout bounds a run of the agent binary with --version. One that is a script for Node.js
// takes seconds on a busy machine.
var versionTimeout = 30 * time.Second

var _ = timelimit.Register(&versionTimeout)

// packageName is the npm package of the agent.
const packageName = "@anthropic-ai/claude-code"

// A binaryKey distinguishes agent binaries, even at the same path.
type binaryKey struct {
	path    string
	dir     string // for a small program, which may start another by the directory
	size    int64
	changed time.Time
}

// smallProgram is the size below which a program is not Claude Code itself.
const smallProgram = 64 << 20

// A failureKey is a binary and a hash of the environment that it failed in.
type failureKey struct {
	binary      binaryKey
	environment uint64
}

// environments is the seed of the hashes of environments.
var environments = maphash.MakeSeed()

// A probe is the search for the version of an agent binary.
type probe struct {
	key   failureKey
	limit time.Duration // how long it may take

	done    chan struct{} // closed when the fields below are set
	version string
	err     error
	givenUp bool // by its caller
	ended   time.Time
}

// counts reports whether a probe that is done counts for a caller with so much time.
func (p *probe) counts(key failureKey, limit time.Duration) bool {
	return p.err == nil || !p.givenUp && p.key == key && limit <= p.limit
}

const (
	// failureMemory is the time for which a binary that does not print its version is not run
	// again.
	failureMemory = 5 * time.Minute
	// maxProbes limits how many probes are kept.
	maxProbes = 1000
)

// probes has the running and successful probe of each binary, and the failed ones.
var probes struct {
	sync.Mutex
	newest map[binaryKey]*probe
	failed map[failureKey]*probe
}

// Version returns the version of the agent binary at path, such as "2.1.325". It reads the package
// file of npm if the binary is part of that package, and otherwise runs the binary with --version,
// in that directory and environment. It takes limit at most. It remembers the answer until the file
// changes, and a failure for five minutes, for callers with the same environment and no more time.
// Calls at once share one run.
func Version(ctx context.Context, path, dir string, env []string, limit time.Duration) (string, error) {
	file, binary, err := identify(path, dir)
	if err != nil {
		return "", err
	}
	key := failureKey{binary, maphash.String(environments, strings.Join(env, "\x00"))}
	limit = min(limit, versionTimeout)
	for left := limit; ctx.Err() == nil; {
		p, mine := probeOf(key, left)
		if mine {
			p.version = packageVersion(os.DirFS(filepath.Dir(filepath.Dir(file))), filepath.Base(filepath.Dir(file)))
			if p.version == "" {
				p.version, p.err = printedVersion(ctx, path, dir, env, left)
			}
			p.end(ctx.Err() != nil)
			return p.version, p.err
		}
		began := time.Now()
		select {
		case <-p.done:
			if p.counts(key, left) {
				return p.version, p.err
			}
			left = max(left-time.Since(began), 0)
		case <-time.After(left):
			return "", fmt.Errorf("process: %s --version: %w", path, stillRunning(limit))
		case <-ctx.Done():
		}
	}
	return "", context.Cause(ctx)
}

func stillRunning(limit time.Duration) error { return fmt.Errorf("still running after %v", limit) }

// identify returns the file that path links to, and its key.
func identify(path, dir string) (file string, key binaryKey, err error) {
	file, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", binaryKey{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", binaryKey{}, err
	}
	key = binaryKey{path: path, size: info.Size(), changed: info.ModTime()}
	if key.size < smallProgram {
		key.dir = dir
	}
	return file, key, nil
}

// probeOf returns the probe of a binary that counts for a caller with so much time: a finished one,
// or else a running one. If there is none, it returns a new one, which the caller has to run.
func probeOf(key failureKey, limit time.Duration) (p *probe, mine bool) {
	probes.Lock()
	defer probes.Unlock()
	p = probes.newest[key.binary]
	if p != nil && isDone(p.done) {
		return p, false
	}
	if f := probes.failed[key]; f != nil && f.counts(key, limit) && time.Since(f.ended) < failureMemory {
		return f, false
	}
	if p != nil {
		return p, false
	}
	p = &probe{key: key, limit: limit, done: make(chan struct{})}
	keep(&probes.newest, key.binary, p)
	return p, true
}

// keep adds a probe to a map, which is emptied first if it is full. The lock is held.
func keep[K comparable](all *map[K]*probe, key K, p *probe) {
	if *all == nil || len(*all) >= maxProbes {
		*all = make(map[K]*probe)
	}
	(*all)[key] = p
}

// end marks the fields as set. A probe that its caller gave up is forgotten: another caller may try
// again.
func (p *probe) end(givenUp bool) {
	probes.Lock()
	defer probes.Unlock()
	p.ended, p.givenUp = time.Now(), givenUp
	close(p.done)
	if p.err == nil {
		return
	}
	if probes.newest[p.key.binary] == p {
		delete(probes.newest, p.key.binary)
	}
	if !givenUp {
		keep(&probes.failed, p.key, p)
	}
}

// packageVersion returns the version of the npm package of the agent whose files are in the
// directory dir of parent, or in parent itself. It returns "" if there is no such package.
func packageVersion(parent fs.FS, dir string) string {
	for _, name := range []string{dir + "/package.json", "package.json"} {
		text, err := fs.ReadFile(parent, name)
		if err != nil {
			continue
		}
		var pack struct{ Name, Version string }
		if json.Unmarshal(text, &pack) == nil && pack.Name == packageName && version.Valid(pack.Version) {
			return pack.Version
		}
	}
	return ""
}

// printedVersion runs the binary with --version, for limit at most. The path may be a link: some
// programs start another one by the name that they are called by.
func printedVersion(ctx context.Context, path, dir string, env []string, limit time.Duration) (string, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer time.AfterFunc(limit, func() { stop(stillRunning(limit)) }).Stop()
	cmd := exec.CommandContext(ctx, path, "--version")
	out := limitedOutput{full: func() { stop(fmt.Errorf("printed more than %d bytes", maxVersionOutput)) }}
	cmd.Dir, cmd.Env, cmd.Stdout = dir, env, &out
	cmd.WaitDelay = 5 * time.Second // a child of a script may keep the pipe open
	defer markDescendants(cmd, false).end()
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("process: %s --version: %w", path, cmp.Or(context.Cause(ctx), err))
	}
	found, name, _ := strings.Cut(strings.TrimSpace(string(out.text)), " ")
	if !version.Valid(found) || name != "(Claude Code)" {
		return "", fmt.Errorf("process: %s --version did not print a version of Claude Code", path)
	}
	return found, nil
}

// maxVersionOutput is the size of the longest output of --version, in bytes.
const maxVersionOutput = 4 << 10

// A limitedOutput keeps the start of a program's output, and ends a program that prints more.
type limitedOutput struct {
	text []byte
	full func()
}

func (o *limitedOutput) Write(p []byte) (int, error) {
	if o.text = append(o.text, p[:min(len(p), maxVersionOutput-len(o.text))]...); len(o.text) == maxVersionOutput {
		o.full()
	}
	return len(p), nil
}
