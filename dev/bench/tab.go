package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/clewdev/clew/cmd/clew/dev/pictures/browser"
)

// The size of the window, in pixels.
const tabWidth, tabHeight = 1280, 900

// A tab is a browser's only page.
type tab struct {
	ctx context.Context
	end func()
}

// watching runs in each document before the document's own scripts. painted resolves to the time after the
// first frame in which a condition holds, in milliseconds since the navigation started.
const watching = `
	window.painted = (so) => new Promise((done) => {
		const look = () => {
			let is = false;
			try { is = so(); } catch {} // the page may not be there yet
			if (!is) { requestAnimationFrame(look); return; }
			const after = new MessageChannel();
			after.port1.onmessage = () => { after.port1.close(); done(performance.now()); };
			after.port2.postMessage(0);
		};
		requestAnimationFrame(look);
	});
	window.inView = (element) => {
		const box = element.getBoundingClientRect();
		return box.height > 0 && box.bottom > 0 && box.top < innerHeight;
	};
	window.firstRows = painted(() => inView(document.querySelector(".item a[href], article.row .head")));
	addEventListener("keydown", (e) => { window.pressed = e.timeStamp; }, true);
	window.longTasks = [];
	new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
`

// newTab starts a browser, which leaves what it needs in a directory.
func newTab(ctx context.Context, dir string) (*tab, error) {
	path, err := browser.Find()
	if err != nil {
		return nil, err
	}
	allocator, endAllocator := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(tabWidth, tabHeight),
		chromedp.Env("TMPDIR="+dir),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, end := chromedp.NewContext(allocator)
	t := &tab{ctx, func() { end(); endAllocator() }}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(tabWidth, tabHeight)); err != nil {
		t.end()
		return nil, err
	}
	if _, err := command(t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// command sends a command to the tab.
func command[P, R any](t *tab, c cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Call(ctx, c, params)
}

// value returns what an expression is in the page. It waits for promises.
func value[T any](t *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		err = fmt.Errorf("%s: %w", expression, err)
	}
	return v, err
}

// do runs a script in the page.
func (t *tab) do(script string) error {
	_, err := value[int](t, "(() => {"+script+"; return 0})()")
	return err
}

// until waits until a condition holds in the page and was painted. It returns the time in milliseconds since
// the navigation started.
func (t *tab) until(so string) (float64, error) {
	return value[float64](t, "painted(() => "+so+")")
}

// goTo goes to a page.
func (t *tab) goTo(url string) error {
	result, err := command(t, page.Navigate, page.NavigateParams{URL: url})
	if err == nil && result.ErrorText != "" {
		err = fmt.Errorf("%s: %s", url, result.ErrorText)
	}
	return err
}

// open goes to a page, and returns when its first rows were painted, in milliseconds.
func (t *tab) open(url string) (float64, error) {
	if err := t.goTo(url); err != nil {
		return 0, err
	}
	return value[float64](t, "firstRows")
}

// follow goes to another page of the viewer as a link does, and returns the time until a condition was
// painted, in milliseconds.
func (t *tab) follow(path, so string) (float64, error) {
	return value[float64](t, fmt.Sprintf(`(async () => {
		const began = performance.now();
		history.pushState({}, "", %q);
		dispatchEvent(new PopStateEvent("popstate"));
		return await painted(() => %s) - began;
	})()`, path, so))
}

// press presses a key, and returns how long after it something was painted, in milliseconds. A key that
// the page takes types nothing.
func (t *tab) press(key, so string) (float64, error) {
	if err := t.do("window.awaited = painted(() => " + so + ")"); err != nil {
		return 0, err
	}
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}
	if key == "Enter" {
		down.Text, down.WindowsVirtualKeyCode = "\r", '\r'
	}
	if _, err := command(t, input.DispatchKeyEvent, down); err != nil {
		return 0, err
	}
	took, err := value[float64](t, "awaited.then((at) => at - pressed)")
	if err != nil {
		err = fmt.Errorf("after %q, %s: %w", key, so, err)
	}
	return took, err
}

// write types a text where the focus is.
func (t *tab) write(text string) error {
	_, err := command(t, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// slow makes the processor of the page so many times slower.
func (t *tab) slow(times float64) error {
	_, err := command(t, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times})
	return err
}

// turn turns the wheel by steps of so many pixels, 60 times a second.
func (t *tab) turn(steps int, pixels float64) error {
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for range steps {
		<-tick.C
		if _, err := command(t, dispatchWheel, wheelEvent{Type: "mouseWheel", X: tabWidth / 2, Y: tabHeight / 2, DeltaY: pixels}); err != nil {
			return err
		}
	}
	return nil
}

// A wheelEvent has a deltaX of 0 as well. Chromium needs it, and input.DispatchMouseEventParams leaves it out.
type wheelEvent struct {
	Type   string  `json:"type"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	DeltaX float64 `json:"deltaX"`
	DeltaY float64 `json:"deltaY"`
}

var dispatchWheel = cdp.Command[wheelEvent, cdp.Empty]{Method: input.CommandDispatchMouseEvent}

// memory returns the most memory that a process with a page has had, in megabytes.
func (t *tab) memory() (most float64, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	info, err := chromedp.CallBrowser(ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, p := range info.ProcessInfo {
		if p.Type == "renderer" { // there can be an empty one in reserve
			most = max(most, peakMemory(int(p.ID)))
		}
	}
	return most, nil
}
