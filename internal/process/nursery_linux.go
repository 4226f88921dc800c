package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// agents is where all agents of this process come from.
var agents nursery

// A nursery starts agents, all on one thread, which it keeps while any of them lives: the kernel tells an agent to
// terminate when the thread that has started it is gone, and threads come and go. Without agents there is no thread and
// no goroutine.
type nursery struct {
	mu     sync.Mutex
	alive  int
	births chan birth
}

type birth struct {
	cmd     *exec.Cmd
	started chan error
}

// start starts cmd. Unless it fails, left must be called when the process has ended.
func (n *nursery) start(cmd *exec.Cmd) error {
	n.mu.Lock()
	if n.alive++; n.alive == 1 {
		n.births = make(chan birth)
		go tend(n.births)
	}
	births := n.births
	n.mu.Unlock()

	b := birth{cmd, make(chan error)}
	births <- b
	err := <-b.started
	if err != nil {
		n.left()
	}
	return err
}

// left says that a process has ended.
func (n *nursery) left() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.alive--; n.alive == 0 {
		close(n.births)
	}
}

func tend(births <-chan birth) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b := range births {
		b.started <- b.cmd.Start()
	}
}
