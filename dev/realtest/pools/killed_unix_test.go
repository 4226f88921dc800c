//go:build unix

package pools_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/internal/soak"
)

// Agents of a pool are killed all the time, whatever they do. A caller fails only with an agent that
// was given its prompt, with a LostError, and no prompt is given to two agents.
func TestRealPoolAgentsKilled(t *testing.T) {
	random := soak.Search(t)
	length := soak.Length(t, 20*time.Second)
	model := clewtest.NewModel(t)
	model.When(func(*clewtest.Request) bool { return true }).Delay(200 * time.Millisecond).Reply(clewtest.Text("Yes."))
	agents := &prey{dir: t.TempDir(), random: random, given: make(map[string]int)}
	p := open(t, scene.Options(t, model, &clew.Options{Transport: agents}), &clew.PoolOptions{Warm: 4, MaxAgents: 8})
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var answered, lost atomic.Int64
	var all sync.WaitGroup
	for caller := range 12 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				prompt := fmt.Sprintf("Is %d.%d a number?", caller, n)
				result, err := p.Run(t.Context(), clew.Text(prompt)) //nolint:contextcheck // ctx ends new prompts only
				given := agents.timesGiven(prompt)
				switch {
				case err == nil && given == 1 && result.Result == "Yes.":
					answered.Add(1)
				case isLost(err) && given == 1:
					lost.Add(1)
				default:
					t.Errorf("%s: given to %d agents: result %v, error %v", prompt, given, result, err)
				}
			}
		})
	}
	all.Wait()
	if answered.Load() == 0 || agents.killed.Load() == 0 {
		t.Error("nothing was tested")
	}
	soak.Figure(t, "%v: %d prompts answered, %d lost, %d agents killed, %+v",
		length, answered.Load(), lost.Load(), agents.killed.Load(), p.Stats())
}

// prey is the usual transport. It kills a third of its processes, each some time after one of its
// reads and writes, and remembers which prompts they got. So the kills do not depend on how fast
// agents start.
type prey struct {
	dir    string
	killed atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
	count  int
	given  map[string]int // by prompt
}

// Connect starts a process.
func (p *prey) Connect(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
	p.mu.Lock()
	p.count++
	agent := &preyAgent{prey: p, file: filepath.Join(p.dir, strconv.Itoa(p.count))}
	if p.random.IntN(3) == 0 {
		agent.dies = 1 + p.random.Int64N(20)
		agent.delay = time.Duration(p.random.IntN(300)) * time.Millisecond
	}
	p.mu.Unlock()
	conn, err := numbered(agent.file).Connect(ctx, launch)
	agent.Connection = conn
	return agent, err
}

// timesGiven returns how many agents were given a prompt.
func (p *prey) timesGiven(prompt string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.given[prompt]
}

type preyAgent struct {
	clew.Connection
	prey  *prey
	file  string        // has its process ID
	dies  int64         // at which read or write it is killed, or 0
	delay time.Duration // how long after it

	closed atomic.Bool
	events atomic.Int64
}

// act counts a read or a write, and kills the process when its time has come.
func (a *preyAgent) act() {
	if a.events.Add(1) == a.dies {
		time.AfterFunc(a.delay, a.kill)
	}
}

func (a *preyAgent) kill() {
	text, err := os.ReadFile(a.file)
	if err != nil {
		return // it has not started yet
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || a.closed.Load() {
		return
	}
	if syscall.Kill(pid, syscall.SIGKILL) == nil {
		a.prey.killed.Add(1)
	}
}

func (a *preyAgent) Read(p []byte) (int, error) {
	n, err := a.Connection.Read(p)
	a.act()
	return n, err
}

// Write writes frames. Those with prompts count if all of them was written.
func (a *preyAgent) Write(frames []byte) (int, error) {
	defer a.act()
	n, err := a.Connection.Write(frames)
	for line := range bytes.Lines(frames[:n]) {
		_, rest, found := bytes.Cut(line, []byte(`"text":"Is `))
		number, _, whole := bytes.Cut(rest, []byte(` a number?"`))
		if found && whole && bytes.HasSuffix(line, []byte("\n")) {
			a.prey.mu.Lock()
			a.prey.given[fmt.Sprintf("Is %s a number?", number)]++
			a.prey.mu.Unlock()
		}
	}
	return n, err
}

// Close ends the process.
func (a *preyAgent) Close() error {
	a.closed.Store(true)
	return a.Connection.Close()
}

// Interrupt interrupts the process.
func (a *preyAgent) Interrupt() error { return a.Connection.(clew.Interrupter).Interrupt() }
