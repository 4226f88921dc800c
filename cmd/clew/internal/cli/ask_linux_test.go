package cli

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/fleet"
)

// A question from a job's agent is shown to its end before a letter allows it, as in run and chat.
func TestApproveInPages(t *testing.T) {
	before := termio.Discard
	termio.Discard = discardTyped
	t.Cleanup(func() { termio.Discard = before })
	dir := filepath.Join(t.TempDir(), "fleet")
	f := openTestFleet(t, dir)
	j := f.make(t, "long", &fleet.Spec{Prompt: "Fix the test."})
	master, slave := clitest.OpenTerminal(t, 80)
	u := &chatTerminal{Paper: clitest.NewPaper(80), keys: master}
	go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
	var out strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"jobs", "approve", "--fleet", dir, j.ID}, Streams{In: slave, Out: &out, Err: slave})
	}()
	unread := "Enter shows more. Allow it unread? yes / no: |"
	u.See(t, "lines 1-21 of 52 -+\n"+unread)
	u.press(t, "y\r")
	u.See(t, "…\n"+unread) // the reminder
	u.press(t, "\r")
	u.See(t, "lines 22-42 of 52 -+\n"+unread)
	u.press(t, "\r")
	u.See(t, clitest.Choices+"|")
	u.press(t, "e\r")
	u.See(t, "Tell the agent why, or what to do instead: |")
	u.press(t, "use make clean\r")
	if got := <-code; got != clikit.ExitDone || !strings.HasPrefix(out.String(), "denied: "+exampleQuestion) {
		t.Errorf("exit code %d: %s", got, out.String())
	}
	end, err := f.Wait(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := `allow false, text "use make clean", answers map[]`; end.Result().Text != want {
		t.Errorf("the agent got %q", end.Result().Text)
	}
}

// A question whose terminal is closed is not answered.
func TestApproveWithoutAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	f := openTestFleet(t, dir)
	j := f.make(t, "question", &fleet.Spec{Prompt: "Fix the test."})
	master, slave := clitest.OpenTerminal(t, 80)
	u := &chatTerminal{Paper: clitest.NewPaper(80), keys: master}
	go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"jobs", "approve", "--fleet", dir, j.ID}, Streams{In: slave, Out: io.Discard, Err: slave})
	}()
	u.See(t, "Number, your own words, or nothing to skip: |")
	u.press(t, "\x04")
	if got := <-code; got != clikit.ExitFailed {
		t.Errorf("exit code %d", got)
	}
	for q, err := range f.Questions(t.Context(), j.ID) {
		if err != nil || q.Answer != nil {
			t.Errorf("%+v, %v", q.Answer, err)
		}
	}
}
