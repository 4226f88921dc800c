package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/internal/soak"
)

// programVariable makes a process of this test the program.
const programVariable = "BROWSERTEST_PROGRAM"

// serveReal runs "clew serve --drive" with the real agent over a model, for agents that work in a
// directory. It returns the link that logs a browser in.
func serveReal(t *testing.T, model *clewtest.Model, dir string) string {
	t.Helper()
	env := append(model.Env(), "CLEW_AGENT="+clewtest.RealAgent(t))
	return serveProgram(t, dir, env, "--drive", "--root", dir, "--permission-mode", "default")
}

// serveProgram runs "clew serve" until the end of the test, and returns the link.
func serveProgram(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve", "--port", "0", "--json"}, args...)...)
	cmd.Dir, cmd.Env = dir, slices.Concat(env, []string{programVariable + "=1"})
	cmd.Stderr = t.Output()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()                       // it was interrupted
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var at struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return at.URL
}

// programEnv returns the environment of a program that reads a home.
func programEnv(home string) []string {
	return []string{
		programVariable + "=1", "HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"PATH=" + os.Getenv("PATH"), "TERM=xterm", "LC_ALL=C.UTF-8", "TZ=UTC",
	}
}

// originOf returns the origin of a URL.
func originOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

// A realStory is the main story, at a page.
type realStory struct {
	*tab
	model *clewtest.Model
}

// send sends a prompt by the keyboard, where the focus need not be.
func (s realStory) send(text string) {
	s.Helper()
	s.until(editor + ` && (` + editor + `.closest("details")?.setAttribute("open", ""), ` + editor + `.focus(), true)`)
	s.write(text)
	s.press("enter")
}

// choose clicks what has a text, once a click counts.
func (s realStory) choose(selector, text string) {
	s.Helper()
	s.until(fmt.Sprintf(`(e => e && !e.closest("[inert], [hidden]") && (e.click(), true))([...document.querySelectorAll(%q)].find(e => e.textContent.trim() === %q))`, selector, text))
}

// idle waits until the turn has ended.
func (s realStory) idle() {
	s.Helper()
	s.until(`document.querySelector(".dock .composer .state")?.textContent.startsWith("idle")`)
}

// requested waits until the model has a prompt.
func (s realStory) requested(prompt string) {
	s.Helper()
	s.wait("the model gets "+prompt, func() bool { return strings.Contains(string(scene.Newest(s.model).Body), prompt) })
}

// The main story with the real agent: the printed link, an agent in a project, a prompt with an image, a
// tool that is allowed, an interrupt, a choice, another model, a rewind with its preview, a copy, and the
// list.
func TestRealAgent(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	model, dir := clewtest.NewModel(t), scene.Dir(t)
	path := filepath.Join(dir, "note.txt")
	model.On("Write it").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": path, "content": "noted\n"})).Once()
	model.OnToolResult("created").Reply(clewtest.Text("It is written.")).Once()
	model.On("Wait").Hang().Once()
	model.On("Which").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which color?", "header": "Color", "multiSelect": false,
		"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}},
	}}})).Once()
	model.OnToolResult("Blue").Reply(clewtest.Text("Blue it is.")).Once()
	model.On("Who are").Reply(clewtest.Text("Another one.")).Once()
	model.On("And now").Reply(clewtest.Text("A copy.")).Once()
	link := serveReal(t, model, dir)
	s := realStory{newTab(t, originOf(t, link)), model}
	s.open(link)
	s.until(editor)
	s.run(pasteImage)
	s.until(`document.querySelector(".thumb img")?.naturalWidth === 2`)
	s.send("Write it")
	s.until(`location.pathname.startsWith("/s/")`)
	first := value[string](s.tab, "location.pathname")
	s.see("note.txt")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("before the answer: %v", err)
	}
	s.choose(".question button", "Allow once")
	s.see("It is written.")
	s.idle()
	if text, err := os.ReadFile(path); err != nil || string(text) != "noted\n" {
		t.Errorf("the file has %q: %v", text, err)
	}
	if body := string(model.Requests()[0].Body); !strings.Contains(body, "image/png") {
		t.Error("the model got no image")
	}
	s.send("Wait for me")
	s.requested("Wait for me")
	s.choose(".composer button", "Interrupt")
	s.idle()
	s.send("Which color?")
	s.until(`(e => e && !e.closest("[inert]") && (e.click(), true))([...document.querySelectorAll(".question label")].find(e => e.textContent.includes("Blue"))?.querySelector("input"))`)
	s.choose(".question button", "Answer")
	s.see("Blue it is.")
	s.idle()
	s.changeModel()
	s.rewind(path)
	s.fork(first)
}

// changeModel has the agent use another model.
func (s realStory) changeModel() {
	s.Helper()
	s.until(`[...document.querySelector("[aria-label=Model]").options].some(o => o.value === "haiku")`)
	s.run(`const model = document.querySelector("[aria-label=Model]"); model.value = "haiku"; model.dispatchEvent(new Event("change"))`)
	s.wait("the model changes", func() bool {
		return strings.Contains(value[string](s.tab, `fetch("/api/v1/driven", {headers: {Authorization: "Bearer " + localStorage.getItem("clew-token")}})
			.then(r => r.json()).then(a => a.agents[0].model)`), "haiku")
	})
	s.send("Who are you?")
	s.see("Another one.")
	s.idle()
	if name := scene.Newest(s.model).Model; !strings.Contains(name, "haiku") {
		s.Errorf("the model is %s", name)
	}
}

// rewind goes back to before the first prompt, which removes the file that it made.
func (s realStory) rewind(path string) {
	s.Helper()
	s.choose(".composer button", "Rewind…")
	s.until(`(e => e && (e.querySelector("button").click(), true))([...document.querySelectorAll("dialog li")].find(e => e.textContent.includes("Write it")))`)
	s.see("note.txt.") // in the preview
	if _, err := os.Stat(path); err != nil {
		s.Errorf("after the preview: %v", err)
	}
	s.choose("dialog button", "Rewind")
	s.until(editor + `.value === "Write it"`)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		s.Errorf("after the rewind: %v", err)
	}
}

// fork ends the agent, and continues a copy of its session. Both are in the list.
func (s realStory) fork(first string) {
	s.Helper()
	s.choose(".composer button", "End")
	s.choose("dialog button", "End it")
	s.until(`document.querySelector(".composer .state").textContent.startsWith("ended")`)
	s.run(editor + `.value = ""`)
	s.choose(".composer label", "as a copy")
	s.until(`document.querySelector(".composer [type=checkbox]").checked`)
	s.send("And now?")
	s.until(fmt.Sprintf(`location.pathname.startsWith("/s/") && location.pathname !== %q`, first))
	s.see("A copy.")
	copied := value[string](s.tab, "location.pathname")
	s.visit("/")
	s.until(fmt.Sprintf(`[%q, %q].every(path => document.querySelector(".item a[href='" + path + "']"))`, first, copied))
}
