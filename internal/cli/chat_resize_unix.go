//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls f when the terminal has another size, until it is stopped.
func onResize(f func()) (stop func()) {
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-changed:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
	}
}
