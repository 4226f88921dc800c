package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// killedCode is the exit code of processes that are killed, the same that [os.Process.Kill] gives.
const killedCode = 1

// endWithHandle makes a job end when its last handle is closed, as the system does when this process dies. It is a
// variable of the package because its address is passed as a number, and a stack may move.
var endWithHandle = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
	BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
	},
}

// A group is the job of an agent: the agent and all that it has started.
type group struct {
	agent *os.Process
	job   windows.Handle // 0 if the agent could not be put into one
}

// groupAttributes keeps a Ctrl-C in this process's console from the agent, and a console from the screen.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// newGroup puts the agent into a job. It has no error: an agent that has exited already can't be put into one and needs
// none.
func newGroup(p *os.Process) *group {
	g := &group{agent: p}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&endWithHandle)), uint32(unsafe.Sizeof(endWithHandle)))
	if err == nil {
		err = assign(job, p)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

func assign(job windows.Handle, p *os.Process) error {
	var assigned error
	err := p.WithHandle(func(handle uintptr) {
		assigned = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	return errors.Join(err, assigned)
}

// terminate kills: there is no signal that asks.
func (g *group) terminate() { g.kill() }

// kill has nothing to report: who is gone by now needs no killing.
func (g *group) kill() {
	if g.job == 0 {
		_ = g.agent.Kill()
		return
	}
	_ = windows.TerminateJobObject(g.job, killedCode)
}

func (g *group) release() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}

func fork(cmd *exec.Cmd) error { return cmd.Start() }

// reap waits until the agent has exited and calls disband right after that.
func reap(cmd *exec.Cmd, disband func()) {
	_ = cmd.Wait()
	disband()
}

// isTooLong knows the error that Windows has for a long command line.
func isTooLong(err error) bool {
	return errors.Is(err, syscall.E2BIG) || errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE)
}

// readNow is not called: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }
