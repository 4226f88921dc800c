// Package drive holds the agents that the web viewer drives: their state, prompts and questions.
package drive

// Agents are the agents that are driven. The methods may be called by several goroutines.
type Agents struct{}
