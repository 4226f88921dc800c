// Package pools tests pools with the real agent over a scripted model. It has many callers and
// dying agents, and checks the state that the next caller of an agent can see.
package pools
