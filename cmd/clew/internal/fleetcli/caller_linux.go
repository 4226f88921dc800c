package fleetcli

import (
	"bytes"
	"os"
	"strconv"
)

// environment returns the environment that a process was started with, or nothing if it ended or belongs
// to another user.
func environment(pid int) []byte {
	env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return env
}

// parent returns the parent of a process, or 0 if it ended. The name of the program, in parentheses, may
// contain blanks.
func parent(pid int) int {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	id, _ := strconv.Atoi(string(fields[1]))
	return id
}
