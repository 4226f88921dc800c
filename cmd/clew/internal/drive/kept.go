package drive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/files"
)

// A keptAgent is the content of an agent's file in the directory Options.Keep. The file outlives
// the server, so that a server that was killed loses no prompt: the next one shows the unanswered
// prompts. A prompt is in the file before its sender learns that it was accepted, and is marked as
// sent there before the agent gets it.
type keptAgent struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // as in [Status]
	Dir     string `json:"dir"`
	Start   string `json:"start"` // the ID of the request that started it
	PID     int    `json:"pid"`   // of the server
	// Prompts are the unanswered prompts, with their states, and some answered ones, without texts:
	// a page whose prompt was accepted may not know it yet.
	Prompts []Prompt `json:"prompts"`
}

// answered is the state of a prompt that needs nothing any more.
const answered = "answered"

// maxKeptFile is the maximum size of an agent's file.
const maxKeptFile = 8 * MaxQueue * MaxPrompt

func (a *Agents) keptPath(id string) string { return filepath.Join(a.opts.Keep, id+".json") }

// saveLocked writes the file of the agent as a whole. An agent that ended and owes nothing has
// none.
func (g *Agent) saveLocked() error {
	if g.agents.opts.Keep == "" || g.elsewhere {
		return nil
	}
	if g.ended && g.current == nil && len(g.queue)+len(g.returned) == 0 {
		g.agents.forgetFile(g.id)
		return nil
	}
	kept := keptAgent{Agent: g.id, Session: g.addressLocked(), Dir: g.opts.Dir, Start: g.startID, PID: os.Getpid()}
	for _, p := range g.sent {
		kept.Prompts = append(kept.Prompts, Prompt{ID: p.ID, State: answered})
	}
	kept.Prompts = append(kept.Prompts, g.returned...)
	if g.current != nil {
		kept.Prompts = append(kept.Prompts, g.current.public("sent"))
	}
	for _, p := range g.queue {
		kept.Prompts = append(kept.Prompts, p.public("queued"))
	}
	text, err := json.Marshal(kept)
	if len(text) > maxKeptFile {
		return &Error{Kind: TooMany, Reason: "the prompts of this agent are too large to be kept", Hint: "Take some back."}
	}
	if err == nil {
		err = g.agents.claim()
	}
	if err == nil {
		// It is for a server that is killed, and is written too often to be synced.
		err = files.Write(g.agents.keptPath(g.id), text, files.WriteOptions{NoSync: true})
	}
	if err != nil {
		return &Error{Kind: Failed, Reason: "the prompt can't be kept: " + err.Error(), Hint: "Make room on the disk."}
	}
	return nil
}

// forgetFile removes the file of an agent.
func (a *Agents) forgetFile(id string) {
	if a.opts.Keep != "" {
		_ = os.Remove(a.keptPath(id)) // what is left is shown by the next server
	}
}

// Restore adds the agents of earlier servers to the ended agents, with their unanswered prompts.
// Call it before the first request. The error names each file that can't be used, and each server
// that still runs and has such prompts. Their files stay where they are.
func (a *Agents) Restore() error {
	entries, err := os.ReadDir(a.opts.Keep)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	type file struct {
		path string
		info fs.FileInfo
	}
	var found []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".json" {
			found = append(found, file{filepath.Join(a.opts.Keep, e.Name()), info})
		}
	}
	slices.SortFunc(found, func(x, y file) int {
		return cmp.Or(x.info.ModTime().Compare(y.info.ModTime()), cmp.Compare(x.path, y.path))
	})
	errs := []error{err}
	running := map[int]int{} // the prompts of servers
	for _, f := range found {
		kept, err := readKept(f.path)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", f.path, err))
		case kept.PID == os.Getpid() || files.RemoveUnlocked(a.lockPath(kept.PID)):
			errs = append(errs, a.restore(kept))
		default:
			running[kept.PID] += kept.unanswered()
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(running)) {
		if n := running[pid]; n > 0 {
			errs = append(errs, fmt.Errorf("another server (process %d) is running and has prompts that are not answered: %d", pid, n))
		}
	}
	return errors.Join(errs...)
}

func (k *keptAgent) unanswered() (n int) {
	for _, p := range k.Prompts {
		if p.State != answered {
			n++
		}
	}
	return n
}

// lockPath returns the file that a server locks while it has prompts here. The number of its process
// does not show whether it runs: another program may have that by now.
func (a *Agents) lockPath(pid int) string {
	return filepath.Join(a.opts.Keep, fmt.Sprintf("%d.lock", pid))
}

// claim locks the file of this server, until the agents are closed or the process ends.
func (a *Agents) claim() error {
	a.locking.Lock()
	defer a.locking.Unlock()
	if a.lock != nil {
		return nil
	}
	if err := os.MkdirAll(a.opts.Keep, 0o700); err != nil {
		return err
	}
	lock, err := files.LockShared(a.lockPath(os.Getpid()))
	a.lock = lock
	return err
}

// unclaim releases the lock and removes its file.
func (a *Agents) unclaim() {
	a.locking.Lock()
	defer a.locking.Unlock()
	if a.lock != nil {
		_ = files.Unlock(a.lock)            // nothing was written
		files.RemoveUnlocked(a.lock.Name()) // other agents of this process may have it
		a.lock = nil
	}
}

func readKept(path string) (*keptAgent, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeptFile))
	if err != nil {
		return nil, err
	}
	kept := new(keptAgent)
	if err := json.Unmarshal(text, kept); err != nil {
		return nil, err
	}
	if kept.Agent+".json" != filepath.Base(path) || !validID(kept.Agent) {
		return nil, errors.New("this is not the file of an agent")
	}
	return kept, nil
}

// restore adds an agent that ended with its server.
func (a *Agents) restore(kept *keptAgent) error {
	session, project, _ := strings.Cut(kept.Session, "@")
	g := newAgent(a, &clew.Options{Dir: kept.Dir, Session: clew.SessionOptions{Resume: session}})
	g.cancel()
	close(g.done) // nothing runs
	g.id, g.project, g.startID, g.ended, g.why = kept.Agent, project, kept.Start, true, "the server that has started it was ended"
	g.earlier = map[string]Prompt{}
	for _, p := range kept.Prompts {
		switch p.State {
		case "sent":
			p.State = "lost"
		case "queued":
			p.State = "unsent"
		}
		g.earlier[p.ID] = p
		if p.State == answered {
			g.sent = append(g.sent, p)
		} else {
			g.returned = append(g.returned, p)
		}
	}
	a.mu.Lock()
	a.forgetLocked(false)
	a.agents = append(a.agents, g)
	a.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.saveLocked() // it is this server's now
}

// Restored returns the agent of an earlier server that was started by the request with this ID.
func (a *Agents) Restored(start string) (Status, bool) {
	a.mu.Lock()
	agents := slices.Clone(a.agents)
	a.mu.Unlock()
	for _, g := range agents {
		if g.earlier != nil && start != "" && g.startID == start {
			return g.Status(), true
		}
	}
	return Status{}, false
}

// Alive reports whether there is a process, if that can be known.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // it was not started here
	return runtime.GOOS == "windows" || !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
