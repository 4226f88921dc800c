package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"github.com/clewdev/clew/cmd/clew/dev/pictures/browser"
	"github.com/clewdev/clew/cmd/clew/internal/cli"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/timelimit"
)

// patience is the time limit of a page for one step. It only ends tests that fail.
const patience = 3 * time.Minute

// A machine is the browser that all tests share: it takes seconds to start.
type machine struct {
	ctx context.Context
	end func()
}

var shared struct {
	once sync.Once
	machine
	blank string // the URL of an empty page at the address of all servers
	err   error
}

// TestMain gives the tests a separate home, and ends the browser.
func TestMain(m *testing.M) {
	timelimit.Lift()
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

// foreignHost is a name that leads to this machine.
const foreignHost = "evil.example"

// startBrowser starts a browser.
func startBrowser() (machine, error) {
	path, err := browser.Find()
	if err != nil {
		return machine{}, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1000, 800),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-default-apps", true), chromedp.Flag("mute-audio", true),
		// Tabs behind others keep painting, so that two of them can be looked at.
		chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-background-timer-throttling", true),
		// A process for each tab would take most of the time of the tests.
		chromedp.Flag("process-per-site", true),
		// TestRebinding opens a page at this name.
		chromedp.Flag("host-resolver-rules", "MAP "+foreignHost+" 127.0.0.1"),
	}
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

// idleTabs are tabs that earlier tests used. A new one takes a process and a window.
var idleTabs struct {
	sync.Mutex
	all []context.Context
}

// newTab returns an empty tab. It shares the storage of its origins with the tabs of other tests, each
// of which has its own servers. The storage of the given origin is empty.
func newTab(t *testing.T, origin string) *tab {
	t.Helper()
	p := takeTab(t)
	// A server of an earlier test may have had the same port.
	call(p, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: origin, StorageTypes: "local_storage,indexeddb,service_workers"})
	return p
}

// takeTab is like newTab, and leaves the storage as it is.
func takeTab(t *testing.T) *tab {
	t.Helper()
	parent := sharedBrowser(t)
	idleTabs.Lock()
	var ctx context.Context
	if n := len(idleTabs.all); n > 0 {
		ctx, idleTabs.all = idleTabs.all[n-1], idleTabs.all[:n-1]
	}
	idleTabs.Unlock()
	if ctx == nil {
		ctx, _ = chromedp.NewContext(parent) // it ends with the browser
		if err := chromedp.Do(ctx); err != nil {
			t.Fatal(err)
		}
	}
	p := &tab{t, ctx}
	p.look(look{1000, "light"})
	t.Cleanup(func() {
		if t.Failed() || ctx.Err() != nil {
			_ = chromedp.Cancel(ctx) // it may be closed
			return
		}
		p.run("try { sessionStorage.clear() } catch {}") //nolint:contextcheck // the tab has its own; about:blank has no storage
		p.open(shared.blank)                             //nolint:contextcheck // the tab has its own
		idleTabs.Lock()
		defer idleTabs.Unlock()
		idleTabs.all = append(idleTabs.all, ctx)
	})
	call(p, page.ResetNavigationHistory, cdp.Empty{})
	return p
}

// newBrowser returns an empty tab of another browser, which knows nothing of other tabs.
func newBrowser(t *testing.T) *tab {
	t.Helper()
	return beginTab(sharedBrowser(t), t, chromedp.WithNewBrowserContext())
}

// sharedBrowser returns the browser that all tests share. Without one the test is skipped, or fails if the
// variable CI is "true".
func sharedBrowser(t *testing.T) context.Context {
	t.Helper()
	if _, err := browser.Find(); err != nil && os.Getenv("CI") != "true" {
		t.Skip("there is no Chromium")
	}
	shared.once.Do(func() {
		shared.blank = httptest.NewServer(http.NotFoundHandler()).URL // it ends with the process
		shared.machine, shared.err = startBrowser()
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.ctx
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

// another returns another tab of the browser that newTab uses, which shares its storage.
func (p *tab) another() *tab {
	p.Helper()
	return takeTab(p.T)
}

// A look is the window width and the color scheme of a page.
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

// until waits until an expression is true. An action of the expression happens in the same step as its
// check: the page can't change in between.
func (p *tab) until(expression string) {
	p.Helper()
	script := fmt.Sprintf(`new Promise((done) => {
		const end = performance.now() + %d;
		let pause = 2;
		const look = () => {
			let so = false;
			try { so = !!(%s); } catch {} // the page may not be there yet
			if (so || performance.now() > end) done(so); else setTimeout(look, pause = Math.min(2 * pause, 40));
		};
		look();
	})`, patience.Milliseconds(), expression)
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	for {
		so, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
		switch {
		case err != nil && ctx.Err() == nil && isNavigation(err):
			continue
		case err != nil:
			p.Fatalf("%s\n%v", expression, err)
		case !so:
			p.Fatalf("never true: %s\n%s", expression, p.shown())
		}
		return
	}
}

// isNavigation reports whether an error means that the page went away while a script ran in it.
func isNavigation(err error) bool {
	for _, text := range []string{"navigated or closed", "context was destroyed", "Cannot find context"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// wait waits until something is so outside of the page.
func (p *tab) wait(what string, so func() bool) {
	p.Helper()
	polltest.Until(p, what, so)
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

// write types a text where the focus is, once that takes one.
func (p *tab) write(text string) {
	p.Helper()
	p.until(`document.activeElement.matches("input, textarea")`)
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// click clicks the first element of a selector, where it is.
func (p *tab) click(selector string) {
	p.Helper()
	p.until(fmt.Sprintf("(e => e && (e.click(), true))(document.querySelector(%q))", selector))
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
