// Package transcripts tests package sessions with transcripts of the real agent, and the real agent
// with transcripts of package sessions.
package transcripts
