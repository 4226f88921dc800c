// Package browser makes pictures of pages with Chromium.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find returns the program that CHROME names, or the first of its kind in PATH.
func Find() (string, error) {
	if path := os.Getenv("CHROME"); path != "" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium in PATH: make browser installs it, and CHROME names another")
}

// Shoot writes a picture of a page, a file or a URL, as it looks in a window of this size in pixels.
func Shoot(ctx context.Context, page, picture string, width, height int) error {
	browser, err := Find()
	if err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(profile) }() // it is a temporary directory
	if !strings.HasPrefix(page, "http://") {
		if page, err = filepath.Abs(page); err != nil {
			return err
		}
		page = "file://" + filepath.ToSlash(page)
	}
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
		"--user-data-dir="+profile, "--screenshot="+picture, "--virtual-time-budget=10000", // for the page to load
		fmt.Sprintf("--window-size=%d,%d", width, height), page)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", browser, err, out)
	}
	return nil
}
