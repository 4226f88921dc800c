// Package stores tests session stores with the real agent over a scripted model. The store gets
// everything that the agent writes, and the agent resumes from it.
package stores
