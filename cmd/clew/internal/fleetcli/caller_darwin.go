package fleetcli

import "golang.org/x/sys/unix"

// environment returns the arguments and the environment that a process was started with, or nothing if it
// ended or the system does not show them.
func environment(pid int) []byte {
	env, _ := unix.SysctlRaw("kern.procargs2", pid)
	return env
}

// parent returns the parent of a process, or 0 if it ended.
func parent(pid int) int {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return int(p.Eproc.Ppid)
}
