// Package browsertest opens pages in Chromium: exported pages of hostile transcripts, and those of the
// web viewer. It has no code outside its tests. "make test" runs them, and installs Chromium if there
// is none.
package browsertest
