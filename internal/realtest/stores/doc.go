// Package stores tests session stores with the real agent over a scripted model: the store gets
// everything the agent writes, and the agent resumes from it.
package stores
