package termio

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/clewdev/clew/internal/timelimit"
)

var handedOver atomic.Bool

// HandedOver reports whether another program has the terminal. An interrupt is then for that program.
func HandedOver() bool { return handedOver.Load() }

// HandOver notes that another program has the terminal, until back is called.
func HandOver() (back func()) {
	handedOver.Store(true)
	return func() { handedOver.Store(false) }
}

// resetModes is the string of the last [SetModes].
var resetModes atomic.Value

// SetModes sets the string that resets the terminal modes that the program changed, or "".
func SetModes(reset string) { resetModes.Store(reset) }

// restoreLimit is the time limit to restore a terminal, which may be stopped.
var restoreLimit = 100 * time.Millisecond

var _ = timelimit.Register(&restoreLimit)

// Restorer returns a function that restores the terminal of these streams when the program ends
// immediately: it leaves raw mode and starts a new line.
func Restorer(stdin io.Reader, stderr io.Writer) (restoreAll func()) {
	restore := func() {}
	if in, ok := stdin.(*os.File); ok {
		if before, err := term.GetState(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), before) } // there is nothing else to try
		}
	}
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			restore()
			if out, ok := stderr.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
				modes, _ := resetModes.Load().(string)
				_, _ = io.WriteString(out, modes+"\n") // nor here
			}
		}()
		select {
		case <-done:
		case <-time.After(restoreLimit):
		}
	}
}
