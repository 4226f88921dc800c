// Package browsertest opens exported pages and the pages of the web viewer in Chromium. The
// transcripts are hostile. It has no code outside its tests. "make test" runs them, and installs
// Chromium if there is none.
package browsertest
