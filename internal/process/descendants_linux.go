package process

import (
	"bytes"
	"os"
	"strconv"
)

// processes returns the IDs of all processes of this machine.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those before an error are enough
	var ids []int
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// environment returns the environment of a process, or nothing if it ended or belongs to another
// user. A starting process has no environment yet.
func environment(pid int) (env []byte, starting bool) {
	return environmentIn("/proc/" + strconv.Itoa(pid))
}

// environmentIn returns the environment of a process that the system describes in a directory.
func environmentIn(dir string) (env []byte, starting bool) {
	env, err := os.ReadFile(dir + "/environ")
	if err != nil || len(env) > 0 {
		return env, false
	}
	// Most of these are threads of the kernel, which have no program.
	if _, err := os.Readlink(dir + "/exe"); err != nil {
		return nil, false
	}
	stat, err := os.ReadFile(dir + "/stat")
	return nil, err == nil && isStarting(stat)
}

// isStarting reports whether a process already has its program, but not yet its environment: then
// the end of the environment is at 0. The name of the program, in parentheses, may contain blanks.
func isStarting(stat []byte) bool {
	const end = 51 - 3 // field 51, counted from field 3, the first one after the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > end && string(fields[end]) == "0"
}
