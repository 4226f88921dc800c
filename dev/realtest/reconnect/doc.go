// Package reconnect tests sessions whose agent, the real one over a scripted model, is killed. That
// happens in the middle of a turn and between turns, once and repeatedly.
package reconnect
