// Package pools has the tests of pools against the real agent, over a scripted model: many callers, what one of them
// leaves to the next, and agents that die.
package pools
