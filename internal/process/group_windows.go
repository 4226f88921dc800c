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

// endWithHandle makes a job end when its last handle is closed, as the system does when this
// process dies. It is a package variable because its address is passed as a number, and a stack may
// move.
var endWithHandle = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
	BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
	},
}

// A group is the job of an agent: the agent and all processes that it started.
type group struct {
	agent *os.Process
	job   windows.Handle // 0 if the agent could not be put into one
}

// groupAttributes keeps a Ctrl-C in this process's console from reaching the agent, and hides the
// agent's console.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// newGroup puts the agent into a job. It returns no error: an agent that exited can't be put into a
// job, and needs none.
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

// terminate kills: Windows has no signal that asks a process to end.
func (g *group) terminate() { g.kill() }

// kill ignores errors: the process may be dead already.
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

// startCommand starts cmd and calls closeFiles, which closes the files of the process.
func startCommand(cmd *exec.Cmd, closeFiles func()) error {
	defer closeFiles()
	return cmd.Start()
}

func commandGone() {}

// wait waits until the agent exits and calls endGroup right after that.
func wait(cmd *exec.Cmd, endGroup func()) {
	_ = cmd.Wait()
	endGroup()
}

// isTooLong also recognizes the error that Windows returns for a long command line.
func isTooLong(err error) bool {
	return errors.Is(err, syscall.E2BIG) || errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE)
}

// hasNoReader reports false: the system does not say.
func hasNoReader(*os.File) bool { return false }

// readNow is not called: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }
