package clew

import (
	"fmt"

	"github.com/clewdev/clew/internal/process"
)

// FindAgent returns the absolute path of the agent binary that a session with that [Options.AgentPath] would start. It
// starts nothing. If there is none, it returns a [*NotFoundError].
func FindAgent(agentPath string) (string, error) { return findAgent(agentPath) }

// findAgent returns the path of the agent binary: the one that the options name, or else the first that is found.
func findAgent(explicit string) (string, error) {
	path, looked, err := process.Find(explicit)
	if err != nil {
		return "", &NotFoundError{Looked: looked}
	}
	return path, nil
}

// startError gives an error of starting a process its public form.
func startError(err error) error { return fmt.Errorf("clew: starting the agent: %w", err) }
