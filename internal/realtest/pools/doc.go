// Package pools tests pools with the real agent over a scripted model. It has many callers, agents
// that die, and checks of what the next caller of an agent can see.
package pools
