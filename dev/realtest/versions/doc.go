// Package versions tests the SDK with each version of Claude Code that it supports. "make versions"
// runs it, one version after the other, and writes the table of docs/compatibility.md.
package versions
