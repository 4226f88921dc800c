// Package port finds out whether a server can listen at an address.
package port

import (
	"context"
	"errors"
	"net"
	"runtime"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// InUse reports whether the error of a listener means that another one has the address. Windows uses
// a different error number.
func InUse(err error) bool {
	const windows = syscall.Errno(10048)
	return errors.Is(err, syscall.EADDRINUSE) || runtime.GOOS == "windows" && errors.Is(err, windows)
}

// retryDelay is the time between two attempts to listen.
const retryDelay = 20 * time.Millisecond

// BecomesFree reports whether a server can listen at a TCP address, now or within a time. The address
// of a server that has just ended may still be in use: a process that the server's process was
// starting has a copy of its socket until it runs its program.
func BecomesFree(ctx context.Context, address string, limit time.Duration) bool {
	for end := time.Now().Add(limit); ; {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			_ = l.Close()
			return true
		}
		if !InUse(err) || !time.Now().Before(end) || pause.For(ctx, retryDelay) != nil {
			return false
		}
	}
}
