// Package browsertest opens exported pages and web viewer pages in Chromium. The transcripts are
// hostile. It has no code outside its tests. "make test" runs them, and installs Chromium if there
// is none.
package browsertest
