package simagent_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/simagent"
)

// start starts an agent that plays a dialogue, and returns its record and the record's reports.
// Package clewtest tests the rest of the engine.
func start(t *testing.T, dialogue string) (c *simagent.Conn, run *simagent.Run, reports *[]string) {
	t.Helper()
	s, err := simagent.ReadDialogue(strings.NewReader(dialogue), "line ")
	if err != nil {
		t.Fatal(err)
	}
	reports = new([]string)
	run = simagent.NewRun(s, nil, func(text string) { *reports = append(*reports, text) })
	return simagent.Start(s, run), run, reports
}

func TestStart(t *testing.T) {
	t.Parallel()
	c, run, reports := start(t, "> {\"type\":\"a\"}\n< b\n")
	if _, err := io.WriteString(c, "{\"type\":\"a\"}\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || answer != "b\n" {
		t.Errorf("read %q, %v", answer, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(*reports) > 0 || run.Reported() {
		t.Errorf("reports %q", *reports)
	}
	want := "> {\"type\":\"a\"}\n< b\n# host closes stdin\n# exit 0\n"
	if got := run.Dialogue(); got != want {
		t.Errorf("dialogue %q, want %q", got, want)
	}
}

// An agent that is ended early reports what its host has not sent.
func TestEndedEarly(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*simagent.Conn) error{
		"the host ended the agent by a signal (killed)": func(c *simagent.Conn) error { return c.Signal(os.Kill) },
		"the test ended": (*simagent.Conn).Stop,
	}
	for reason, end := range ends {
		c, run, reports := start(t, "> {\"type\":\"a\"}\n")
		if err := end(c); err != nil {
			t.Error(err)
		}
		var exit *simagent.ExitError
		if err := c.Wait(); !errors.As(err, &exit) {
			t.Errorf("%s: the agent ended with %v", reason, err)
		}
		if len(*reports) != 1 || !strings.HasPrefix((*reports)[0], "step 1 (line 1): "+reason+", and") || !run.Reported() {
			t.Errorf("%s: reports %q", reason, *reports)
		}
	}
}
