package simagent

import "syscall"

// endsProcess accepts all signals: [Process.Kill] reports signals that Windows does not have.
func endsProcess(sig syscall.Signal) bool { return sig != 0 }
