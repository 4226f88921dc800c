package clew

import (
	"errors"
	"fmt"
)

// A LostError says that a prompt or a request was lost with an agent that has died, while [Options.Reconnect] has the
// session go on with another one. The agent may have acted on it: look before you send it again.
type LostError struct {
	// Exit is how the agent ended.
	Exit *ExitError
}

func (e *LostError) Error() string {
	return "clew: lost with the agent, in whose place the session starts another: " + e.Exit.Error()
}

// Unwrap returns e.Exit.
func (e *LostError) Unwrap() error { return e.Exit }

func isLost(err error) bool {
	_, ok := errors.AsType[*LostError](err)
	return ok
}

// A ReconnectError ends a session whose agent has died and could not be replaced: see [Options.Reconnect].
type ReconnectError struct {
	// Attempts is how many agents were started in a row.
	Attempts int
	// Exit is how the agent ended that was the last to come up, and Last why the newest attempt has failed: the same, if
	// the agents come up and die.
	Exit *ExitError
	Last error
}

func (e *ReconnectError) Error() string {
	if errors.Is(e.Last, e.Exit) {
		return fmt.Sprintf("clew: the agent dies again and again, given up after %d attempts: %v", e.Attempts, e.Exit)
	}
	return fmt.Sprintf("clew: the agent could not be started again, given up after %d attempts: %v; it had died: %v",
		e.Attempts, e.Last, e.Exit)
}

// Unwrap returns e.Last and e.Exit.
func (e *ReconnectError) Unwrap() []error { return []error{e.Last, e.Exit} }
