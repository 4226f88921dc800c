//go:build !darwin

package tempconfig

import "context"

// Keychain returns nil: only macOS has a keychain.
func Keychain(context.Context) []byte { return nil }
