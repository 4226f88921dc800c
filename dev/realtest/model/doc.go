// Package model tests the scripted model with the real agent. It checks how the agent takes answers
// and failures, and that a run leaves the caller's home alone and nothing behind.
package model
