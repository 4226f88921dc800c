// Package features has the tests of what a caller can ask of the real agent, over a scripted model:
// options, permissions, hooks, questions, tools, structured answers, and every control request.
package features
