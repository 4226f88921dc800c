// Package browsertest opens exported pages of hostile transcripts in Chromium, and has no code
// outside its tests. "make soak" runs them, and installs Chromium if there is none.
package browsertest
