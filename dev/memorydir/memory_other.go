//go:build !linux

package memorydir

func inMemory(string) bool { return false }
