// Package tools tests in-process tools with the real agent, over a scripted model. It checks the
// results that the model gets, the end of a call, and the agent's requests to a server.
package tools
