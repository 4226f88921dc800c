// Package transcripts has the tests of package sessions on what the real agent writes, and of the real agent on what
// package sessions writes.
package transcripts
