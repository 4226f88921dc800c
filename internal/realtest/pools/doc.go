// Package pools tests pools with the real agent over a scripted model: many callers, what the next
// caller of an agent can see, and agents that die.
package pools
