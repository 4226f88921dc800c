package browser

import (
	"strings"
	"testing"
)

func TestNoBrowser(t *testing.T) {
	t.Setenv("CHROME", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "CHROME") {
		t.Errorf("got %v", err)
	}
	t.Setenv("CHROME", "no-such-browser")
	if _, err := Find(); err == nil {
		t.Error("there is a browser")
	}
}
