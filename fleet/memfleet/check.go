package memfleet

import (
	"errors"
	"fmt"
)

// refused returns the error for what an engine must not take. This one could keep anything, and refuses what others
// can't keep, so that a test finds it.
func refused(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("memfleet: %w", err)
	}
	return nil
}
