package browsertest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
)

// A storyViewer shows sessions: at a terminal, or as a page. Each method waits until what it says is so.
type storyViewer interface {
	press(keys string) // names of keys, which are separated by spaces
	types(text string)
	see(text string)
	unseen(text string)
	selected(text string)
}

// stories run in both viewers in the same words, over the same sessions: about a zebra, about a needle, about
// stripes with a change and a subagent, and a long one about sheep, which grows. They start at the list, with
// the keys of tui.Bindings.
var stories = []struct {
	name string
	tell func(v storyViewer, grows *sessionFile)
}{
	{"filter, open and go back", func(v storyViewer, _ *sessionFile) {
		v.see("Why does it fail?")
		v.press("/")
		v.types("zebra")
		v.unseen("Why does it fail?")
		enterFirst(v, "Feed the zebra")
		v.see("The zebra is fed.")
		v.press("G")
		v.selected("The zebra is fed.")
		v.press("q")
		v.selected("Feed the zebra")
		v.press("esc")
		v.see("Why does it fail?")
	}},
	{"unfold, and go to failures and prompts", func(v storyViewer, _ *sessionFile) {
		openNeedle(v)
		v.press("g")
		v.selected("Why does it fail?")
		v.press("}")
		v.selected("go test ./...")
		v.press("enter")
		v.see("deep in the hay")
		v.press("h")
		v.unseen("deep in the hay")
		v.selected("go test ./...")
		v.press("]")
		v.selected("Then find it.")
		v.press("[")
		v.selected("Why does it fail?")
		v.press("j")
		v.selected("I run the tests.")
		v.press("G")
		v.selected("Here it is.")
	}},
	{"find", func(v storyViewer, _ *sessionFile) {
		openNeedle(v)
		v.press("g")
		v.selected("Why does it fail?")
		v.press("/")
		v.types("needle")
		v.see("1 of 2")
		v.selected("go test ./...")
		v.see("the needle is lost")
	}},
	{"the entry as it was written, and the keys", func(v storyViewer, _ *sessionFile) {
		openNeedle(v)
		v.press("g")
		v.selected("Why does it fail?")
		v.press("}")
		v.selected("go test ./...")
		v.press("i")
		v.see("tool_use")
		v.press("esc")
		v.unseen("tool_use")
		v.selected("go test ./...")
		v.press("?")
		v.see("next failure")
		v.press("esc")
		v.unseen("next failure")
		v.selected("go test ./...")
	}},
	{"a panel", func(v storyViewer, _ *sessionFile) {
		openNeedle(v)
		v.press("g")
		v.selected("Why does it fail?")
		v.press("f")
		v.see("o file was changed")
		v.press("q")
		v.unseen("o file was changed")
		v.selected("Why does it fail?")
	}},
	{"the changes of a file", func(v storyViewer, _ *sessionFile) {
		openStripes(v)
		v.press("g")
		v.selected("Paint the stripes")
		v.press("j")
		v.selected("stripes.txt")
		v.press("f")
		v.see("1 file")
		v.press("q")
		v.unseen("1 file")
		v.selected("stripes.txt")
	}},
	{"the rows of a subagent", func(v storyViewer, _ *sessionFile) {
		openStripes(v)
		v.press("g")
		v.selected("Paint the stripes")
		v.press("j j")
		v.selected("Count them")
		v.unseen("There are nine.")
		v.press("enter")
		v.see("There are nine.")
		v.press("j j")
		v.selected("There are nine.")
		v.press("h")
		v.selected("Count them")
		v.press("h")
		v.unseen("There are nine.")
	}},
	{"read while it grows, then follow", func(v storyViewer, f *sessionFile) {
		openOne(v, "sheep", "Count the sheep")
		v.see("Sheep 30.")
		v.press("g")
		v.selected("Count the sheep")
		f.write(f.prompt("Are you there?"))
		v.see("1 new")
		v.selected("Count the sheep")
		v.press("G")
		v.selected("Are you there?")
		v.unseen("1 new")
		f.write(f.answer("I am."))
		v.see("I am.")
	}},
}

// openOne opens the session that a filter leaves, which has a title.
func openOne(v storyViewer, filter, title string) {
	v.see("Feed the zebra")
	v.press("/")
	v.types(filter)
	v.unseen("Feed the zebra")
	enterFirst(v, title)
}

// enterFirst opens the first session of the list, which has a title, from the filter.
func enterFirst(v storyViewer, title string) {
	v.see(title)
	v.press("down")
	v.selected(title)
	v.press("enter")
}

// openNeedle opens the session about a needle, and waits until all of it was read.
func openNeedle(v storyViewer) {
	openOne(v, "fail", "Why does it fail?")
	v.see("Here it is.")
	v.see("failed")
}

// openStripes opens the session about stripes, and waits until all of it was read.
func openStripes(v storyViewer) {
	openOne(v, "stripes", "Paint the stripes")
	v.see("The stripes are white.")
	v.see("Explore")
}

// Both viewers are the program itself, which reads one home.
func TestStories(t *testing.T) {
	t.Parallel()
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		home, env, sheep := storyHome(t)
		for _, story := range stories {
			t.Run(story.name, func(t *testing.T) { story.tell(newTerminal(t, home, env), sheep) })
		}
	})
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		home, env, sheep := storyHome(t)
		link := serveProgram(t, home, env)
		origin := originOf(t, link)
		p := newTab(t, origin)
		for _, story := range stories {
			p.open(link)
			link = origin + "/"
			t.Run(story.name, func(t *testing.T) { story.tell(pageViewer{&tab{t, p.ctx}}, sheep) })
		}
	})
}

// storyHome writes the sessions that the stories are about. It returns their home, the environment of
// programs that read it, and the session that grows.
func storyHome(t *testing.T) (home string, env []string, grows *sessionFile) {
	t.Helper()
	home = t.TempDir()
	config := filepath.Join(home, ".claude")
	zebra, needle, sheep := newSessionIn(t, config, "story"), newSessionIn(t, config, "story"), newSessionIn(t, config, "story")
	sheep.write(sheep.prompt("Count the sheep"))
	for n := range 50 {
		sheep.write(sheep.answer(fmt.Sprintf("Sheep %d.", n)))
	}
	zebra.write(zebra.prompt("Feed the zebra"), zebra.answer("The zebra is fed."))
	needle.write(
		needle.prompt("Why does it fail?"), needle.answer("I run the tests."),
		needle.call("go test ./...", strings.Repeat("ok\n", 20)+"the needle is lost\n"+strings.Repeat("ok\n", 4)+"deep in the hay\n", true), needle.answer("It is lost."),
		needle.prompt("Then find it."), needle.call("grep -r needle .", "hay.txt", false), needle.answer("Here it is."),
	)
	stripes := newSessionIn(t, config, "story")
	stripes.write(
		stripes.prompt("Paint the stripes"), stripes.edit("stripes.txt", "black stripes", "white stripes"),
		stripes.subagent("Count them", "There are nine."), stripes.answer("The stripes are white."),
	)
	return home, programEnv(home), sheep
}

// A terminal is the viewer at a terminal.
type terminal struct {
	*testing.T
	screen *termtest.Terminal
	keys   *os.File
}

func newTerminal(t *testing.T, home string, env []string) *terminal {
	t.Helper()
	const columns, rows = 100, 40
	user, program, err := pty.Open(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	v := &terminal{t, termtest.New(columns, rows), user}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = home, env, program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = program.Close()        // the program has it
	go io.Copy(v.screen, user) //nolint:errcheck // it ends with the terminal
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
		_ = user.Close()       // only this test has it
	})
	return v
}

func (v *terminal) press(keys string) {
	v.Helper()
	names := map[string]string{"enter": "\r", "esc": "\x1b", "down": "\x1b[B"}
	for _, key := range strings.Fields(keys) {
		if bytes, ok := names[key]; ok {
			key = bytes
		}
		v.types(key)
	}
}

func (v *terminal) types(text string) {
	v.Helper()
	if _, err := v.keys.WriteString(text); err != nil {
		v.Fatal(err)
	}
}

func (v *terminal) wait(what string, so func() bool) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), patience)
	defer cancel()
	if !v.screen.Wait(ctx, so) {
		v.Fatalf("%s; the screen is:\n%s", what, v.screen.Text())
	}
}

func (v *terminal) see(text string) {
	v.Helper()
	v.wait("not shown: "+text, func() bool { return strings.Contains(v.screen.Text(), text) })
}

func (v *terminal) unseen(text string) {
	v.Helper()
	v.wait("still shown: "+text, func() bool { return !strings.Contains(v.screen.Text(), text) })
}

func (v *terminal) selected(text string) {
	v.Helper()
	v.wait("not selected: "+text, func() bool {
		for line := range strings.Lines(v.screen.Text()) {
			if strings.HasPrefix(line, "▌") && strings.Contains(line, text) {
				return true
			}
		}
		return false
	})
}

// A pageViewer is the viewer as a page.
type pageViewer struct{ *tab }

func (v pageViewer) types(text string) {
	v.Helper()
	v.write(text)
}

func (v pageViewer) unseen(text string) {
	v.Helper()
	v.until(fmt.Sprintf("!document.body.innerText.includes(%q)", text))
}

func (v pageViewer) selected(text string) {
	v.Helper()
	v.until(fmt.Sprintf(`document.querySelector(".row.selected, .item.selected")?.innerText.includes(%q)`, text))
}
