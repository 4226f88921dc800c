package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// processes returns the IDs of the processes of this user.
func processes() []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	ids := make([]int, 0, len(all))
	for i := range all {
		ids = append(ids, int(all[i].Proc.P_pid))
	}
	return ids
}

// environment returns the arguments and the environment of a process, or nothing if it ended or if
// the system does not show them, as for some system programs.
func environment(pid int) (env []byte, starting bool) {
	env, _ = unix.SysctlRaw("kern.procargs2", pid)
	return env, false
}
