package clew

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindAgent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.exe")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := FindAgent(path); got != path || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
	t.Setenv("CLEW_AGENT", path)
	if got, err := FindAgent(""); got != path || err != nil {
		t.Errorf("by the variable: %q, %v", got, err)
	}
	var missing *NotFoundError
	got, err := FindAgent(path + "x")
	if !errors.As(err, &missing) || got != "" || !strings.Contains(missing.Looked[0], "agent.exex") {
		t.Errorf("found %q, %v", got, err)
	}
}
