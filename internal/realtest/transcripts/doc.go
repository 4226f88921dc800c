// Package transcripts tests package sessions with what the real agent writes, and the real agent
// with what package sessions writes.
package transcripts
