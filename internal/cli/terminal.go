package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tidyLimit is how long a terminal may take, which may have been stopped.
const tidyLimit = 100 * time.Millisecond

// tidier returns what makes the terminal fit for others when the program ends at once:
// it is not in raw mode then, and the cursor is on a line of its own.
func tidier(s Streams) (tidy func()) {
	restore := func() {}
	if in, ok := s.In.(*os.File); ok {
		if before, err := term.GetState(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), before) } // there is nothing else to try
		}
	}
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			restore()
			if isTerminal(s.Err) {
				_, _ = io.WriteString(s.Err, "\n") // as above
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalWidth returns how many characters fit on a line of a terminal.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
