package browsertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/clewdev/clew/internal/cli"
	"github.com/clewdev/clew/internal/pictures/browser"
)

// patience is how long a page may take for one step. It only ends tests that fail.
const patience = 3 * time.Minute

// A machine is the browser that all tests share: it takes seconds to start.
type machine struct {
	ctx context.Context
	end func()
}

var shared struct {
	once sync.Once
	machine
	err error
}

// TestMain gives the tests a home of their own, and ends the browser.
func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	if origin := os.Getenv(serverOrigin); origin != "" {
		if err := serveProcess(origin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	home, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": home + "/.claude", "XDG_CACHE_HOME": home + "/cache"} {
		_ = os.Setenv(name, value) // it fails only for bad names
	}
	code := m.Run()
	if shared.end != nil {
		shared.end()
	}
	_ = os.RemoveAll(home) // it is a temporary directory
	os.Exit(code)
}

// startBrowser starts a browser with more flags, until the end of the test if there is one.
func startBrowser(flags ...chromedp.ExecAllocatorOption) (machine, error) {
	path, err := browser.Find()
	if err != nil {
		return machine{}, err
	}
	options := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1000, 800),
		// Tabs behind others go on painting, so that two of them can be looked at.
		chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-renderer-backgrounding", true),
	}, flags...)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		end()
		endAllocator()
		return machine{}, err
	}
	return machine{ctx, func() { end(); endAllocator() }}, nil
}

// A tab is a page in the browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// newTab returns an empty tab of a browser that knows nothing of other tests.
func newTab(t *testing.T) *tab {
	t.Helper()
	shared.once.Do(func() { shared.machine, shared.err = startBrowser() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.newTab(t)
}

func (m machine) newTab(t *testing.T) *tab {
	t.Helper()
	return beginTab(m.ctx, t, chromedp.WithNewBrowserContext())
}

// beginTab opens a tab. The context that it is opened with lives as long as the tab.
func beginTab(parent context.Context, t *testing.T, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1000, 800)); err != nil {
		t.Fatal(err)
	}
	return &tab{t, ctx}
}

// another returns another tab of the same browser, which shares its storage.
func (p *tab) another() *tab {
	p.Helper()
	return beginTab(p.ctx, p.T)
}

// A look is how a page is shown.
type look struct {
	width  int64
	scheme string
}

// look sets the width of the window, and whether it is light or dark.
func (p *tab) look(l look) {
	p.Helper()
	p.do(chromedp.EmulateViewport(l.width, 800))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
}

// do takes steps, and fails the test if one fails or takes too long.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

func (p *tab) open(url string) {
	p.Helper()
	if result := call(p, page.Navigate, page.NavigateParams{URL: url}); result.ErrorText != "" {
		p.Fatalf("%s: %s", url, result.ErrorText)
	}
}

// visit goes to another page of the viewer, as a link does.
func (p *tab) visit(path string) {
	p.Helper()
	p.run(fmt.Sprintf(`history.pushState({}, "", %q); dispatchEvent(new PopStateEvent("popstate"))`, path))
}

// value returns what an expression of JavaScript is in a page. It waits for promises.
func value[T any](p *tab, expression string) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s\n%v", expression, err)
	}
	return v
}

// run runs JavaScript in the page.
func (p *tab) run(script string) {
	p.Helper()
	value[any](p, "(async () => {"+script+"; return 0})()")
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.Helper()
	end := time.Now().Add(patience)
	for !value[bool](p, "(() => { try { return !!("+expression+") } catch { return false } })()") { // the page may not be there yet
		if time.Now().After(end) {
			p.Fatalf("never true: %s\n%s", expression, p.shown())
		}
		value[any](p, "new Promise(done => setTimeout(done, 15))")
	}
}

// wait waits until something is so outside of the page.
func (p *tab) wait(what string, so func() bool) {
	p.Helper()
	for end := time.Now().Add(patience); !so(); value[any](p, "new Promise(done => setTimeout(done, 15))") {
		if time.Now().After(end) {
			p.Fatalf("never true: %s", what)
		}
	}
}

// see waits until the page shows a text.
func (p *tab) see(text string) {
	p.Helper()
	p.until(fmt.Sprintf("document.body?.innerText.includes(%q)", text))
}

// shown returns what the page shows.
func (p *tab) shown() string {
	p.Helper()
	return value[string](p, "location.href + '\\n' + document.body?.innerText.slice(0, 600)")
}

// keyNames are keys by their names in the table of keys: the name that a browser has, and its number.
var keyNames = map[string]struct {
	name   string
	number int64
	text   string
}{
	"enter": {"Enter", 13, "\r"}, "esc": {"Escape", 27, ""}, "tab": {"Tab", 9, ""}, "space": {" ", 32, " "},
	"down": {"ArrowDown", 40, ""}, "up": {"ArrowUp", 38, ""},
}

// press presses keys, which are separated by spaces, as someone at the keyboard does: a key that the
// page takes types nothing.
func (p *tab) press(keys string) {
	p.Helper()
	for _, key := range strings.Fields(keys) {
		params := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}
		if k, ok := keyNames[key]; ok {
			params.Key, params.Text, params.WindowsVirtualKeyCode = k.name, k.text, k.number
		}
		call(p, input.DispatchKeyEvent, params)
		params.Type, params.Text = input.DispatchKeyEventTypeKeyUp, ""
		call(p, input.DispatchKeyEvent, params)
	}
}

// write types a text where the focus is.
func (p *tab) write(text string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		p.Fatal(err)
	}
}

// click clicks the first element of a selector, where it is.
func (p *tab) click(selector string) {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	p.run(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// call sends a command to the tab.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		p.Fatal(err)
	}
	return result
}
