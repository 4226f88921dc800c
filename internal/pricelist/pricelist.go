// Package pricelist keeps the prices with which all screens of a process compute costs.
package pricelist

import (
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/usage"
)

var (
	chosen  atomic.Pointer[usage.Prices]
	builtIn = sync.OnceValue(usage.DefaultPrices)
)

// Current returns the prices of this process: those of [Use], or else the built-in ones. The caller
// must not change them.
func Current() usage.Prices {
	if p := chosen.Load(); p != nil {
		return *p
	}
	return builtIn()
}

// Use makes these the prices of this process. The program calls it once, before it computes a cost.
func Use(p usage.Prices) { chosen.Store(&p) }
