// Package model has the tests of the scripted model with the real agent: what the agent makes of
// its answers and failures, and that a run leaves the caller's home alone and nothing behind.
package model
