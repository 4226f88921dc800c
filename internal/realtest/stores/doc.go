// Package stores has the tests of session stores with the real agent, over a scripted model: what it writes down is
// mirrored, and it resumes from there.
package stores
