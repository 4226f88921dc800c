package process

import (
	"os"
	"os/exec"
	"syscall"
)

// markedScript defines a function that lists the processes below a directory such as /proc that
// have a mark in their environment. On a machine with very many processes, their names are more
// than one grep can take as arguments: printf is part of the shell and has no such limit, and xargs
// calls grep as often as it takes.
const markedScript = `
marked() { printf '%s\n' "$2"/[0-9]*/environ | xargs grep -lsF -- "$1"; }
`

// watcherScript waits for the end of its input, which is the death of this process. By then the
// kernel sent SIGTERM to the agents. Every process with the mark of this process gets SIGTERM three
// seconds later, and SIGKILL after two more: agents that ignore the signal, and leftovers of
// agents.
const watcherScript = markedScript + `
signal() {
	for file in $(marked "$2" /proc); do
		file=${file#/proc/}
		kill -s "$1" "${file%/environ}"
	done
}
read -r line
sleep 3
signal TERM "$1"
sleep 2
for round in 1 2 3; do signal KILL "$1"; done
`

// A watcher is a shell that outlives this process if that is killed, and then ends its agents. The
// zero value runs none.
type watcher struct{ shell *exec.Cmd }

// start starts the shell, unless it runs. A machine without one has no watcher.
func (w *watcher) start() {
	if w.shell != nil {
		return
	}
	shell := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", watcherScript, "clew-watcher", markVariable + "=" + hostMark},
		Env: []string{"PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin"}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if _, err := shell.StdinPipe(); err != nil { // the pipe ends with this process
		return
	}
	if shell.Start() == nil {
		w.shell = shell
	}
}

// stop ends the shell, which has nothing to do when no agent runs.
func (w *watcher) stop() {
	if w.shell == nil {
		return
	}
	_ = w.shell.Process.Kill()
	_ = w.shell.Wait()
}
