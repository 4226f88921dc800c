package cli

import "sync"

// An allowance is a number of bytes that may be in use at once.
type allowance struct {
	total int64

	mu       sync.Mutex
	used     int64
	returned sync.Cond
}

func newAllowance(total int64) *allowance {
	a := &allowance{total: total}
	a.returned.L = &a.mu
	return a
}

// take waits until there is room for n bytes. More than the total there is room
// for when nothing else is in use.
func (a *allowance) take(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.used > 0 && a.used+n > a.total {
		a.returned.Wait()
	}
	a.used += n
}

// giveBack makes room for others.
func (a *allowance) giveBack(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	a.returned.Broadcast()
}
