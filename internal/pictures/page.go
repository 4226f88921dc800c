package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Limits of the picture of the page.
const (
	pageWidth, pageHeight = 1280, 1240
	pageBytes             = 400_000
)

// drawPage makes a picture of the page that the demo exports.
func drawPage(ctx context.Context, clew, dir string) error {
	tour := filepath.Join(dir, "page")
	if out, err := exec.CommandContext(ctx, clew, "demo", "--fast", "--yes", "--dir", tour).CombinedOutput(); err != nil {
		return fmt.Errorf("clew demo: %w\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(tour, "*.html"))
	if err != nil || len(pages) != 1 {
		return fmt.Errorf("the demo has exported the pages %q, not one", pages)
	}
	browser, err := findBrowser()
	if err != nil {
		return err
	}
	picture := filepath.Join(dir, "page.png")
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
		"--user-data-dir="+filepath.Join(dir, "browser"), "--screenshot="+picture,
		fmt.Sprintf("--window-size=%d,%d", pageWidth, pageHeight), "file://"+filepath.ToSlash(pages[0]))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", browser, err, out)
	}
	data, err := os.ReadFile(picture)
	if err != nil {
		return err
	}
	return save(pageFile, data, pageBytes)
}

// findBrowser returns the program that CHROME names, or the first of its kind in PATH.
func findBrowser() (string, error) {
	if path := os.Getenv("CHROME"); path != "" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no chromium in PATH for a picture of the page: install one, or name it with CHROME")
}
