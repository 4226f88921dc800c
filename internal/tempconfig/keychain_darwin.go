package tempconfig

import (
	"bytes"
	"context"
	"os/exec"
	"time"
)

// keychainTimeout is the time that the system may take. It may ask the user first.
const keychainTimeout = 30 * time.Second

// Keychain returns the credentials that the agent keeps in the keychain of macOS, or nil. It blocks
// until the system answers or ctx ends.
func Keychain(ctx context.Context) []byte {
	ctx, cancel := context.WithTimeout(ctx, keychainTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/security", "find-generic-password", "-s", "Claude Code-credentials", "-w")
	secret, err := cmd.Output()
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(secret)
}
