package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How much is looked at.
const (
	manyRows   = 100_000
	rareWord   = "quokka" // in one row of them
	rareRow    = manyRows * 9 / 10
	wheelSteps = 300
	slowdown   = 4
)

// measurePages measures the web viewer in a browser.
func measurePages(ctx context.Context, o options) ([]*feeling, error) {
	return measureVisit(ctx, o, "browsing", func(v *visit) []visitPart {
		return []visitPart{
			{"a list", v.pageList}, {"a large session", v.pageSession}, {"a session with many rows", v.pageRows},
			{"a growing session", v.pageGrowing}, {"a session while it is scrolled", v.pageScroll}, {"a page nobody looks at", v.pageIdle},
		}
	})
}

// browse starts a server and a browser that is logged in, and lets use use both.
func (v *visit) browse(ctx context.Context, config string, use func(*tab, *site) error) error {
	s, _, err := v.start(ctx, config)
	if err != nil {
		return err
	}
	t, err := newTab(ctx, v.dir)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	if err = t.login(s); err == nil {
		err = use(t, s)
	}
	t.end()
	return errors.Join(err, s.stop())
}

// login gives the page the token of the site, and goes to a page that asks for no sessions.
func (t *tab) login(s *site) error {
	if err := t.goTo(s.address + "search"); err != nil {
		return err
	}
	if err := t.do(fmt.Sprintf("localStorage.setItem('clew-token', %q)", s.token)); err != nil {
		return err
	}
	if err := t.goTo(s.address + "search"); err != nil {
		return err
	}
	_, err := t.until(`document.querySelector("main input")`)
	return err
}

// settle waits until a session page shows everything beside the rows.
func (t *tab) settle() error {
	_, err := t.until(`document.querySelector(".summary[aria-busy=false]") && document.querySelector(".turns li")`)
	return err
}

// pageOf returns the address of a session page. The file name contains the session ID.
func (s *site) pageOf(file string) string {
	return s.address + "s/" + strings.TrimSuffix(filepath.Base(file), ".jsonl")
}

// pageList opens a very long session list.
func (v *visit) pageList(ctx context.Context) error {
	for range v.rounds {
		err := v.browse(ctx, v.crowd(), func(t *tab, s *site) error {
			took, err := t.open(s.address)
			if err != nil {
				return err
			}
			v.add(fmt.Sprintf("%d sessions, painted", v.crowded), "ms", 1000, took)
			if err := t.turn(30, 600); err != nil {
				return err
			}
			n, err := value[float64](t, `document.querySelectorAll(".item").length`)
			v.add(fmt.Sprintf("%d sessions, rows in the document", v.crowded), "", 200, n)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pageSession opens the largest session, and again as a link of another page does.
func (v *visit) pageSession(ctx context.Context) error {
	for range v.rounds {
		err := v.browse(ctx, v.agent(), func(t *tab, s *site) error {
			took, err := t.open(s.pageOf(v.truth.Largest))
			if err != nil {
				return err
			}
			v.add("57 MB session, first rows painted", "ms", 400, took)
			if _, err = t.follow("/search", `document.querySelector("main input")`); err != nil {
				return err
			}
			took, err = t.follow(strings.TrimPrefix(s.pageOf(v.truth.Largest), strings.TrimSuffix(s.address, "/")), `inView(document.querySelector("article.row .head"))`)
			v.add("57 MB session, first rows painted, again", "ms", 50, took)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pageRows jumps in a session with very many rows, and finds something.
func (v *visit) pageRows(ctx context.Context) error {
	file, err := v.makeRows()
	if err != nil {
		return err
	}
	for range v.rounds {
		err := v.browse(ctx, v.rowsDir(), func(t *tab, s *site) error {
			if _, err := t.open(s.pageOf(file)); err != nil {
				return err
			}
			if err := t.settle(); err != nil {
				return err
			}
			middle, _, err := s.rows(ctx, sessionPath(file, fmt.Sprintf("rows?n=1&from=%d", manyRows/2)))
			if err != nil {
				return err
			}
			return v.jump(t, middle.Rows[0].ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// jump goes to the end, to a row in the middle and to a match.
func (v *visit) jump(t *tab, middle string) error {
	took, err := t.press("G", fmt.Sprintf(`inView([...document.querySelectorAll("article.row")].at(-1)) && [...document.querySelectorAll("article.row")].at(-1).textContent.includes("Answer %d.")`, manyRows/2-1))
	if err != nil {
		return err
	}
	v.add("100,000 rows, the end painted", "ms", 200, took)
	took, err = t.follow("#row="+middle, fmt.Sprintf(`inView(document.querySelector('[data-row="%s"].selected'))`, middle))
	if err != nil {
		return err
	}
	v.add("100,000 rows, a row in the middle painted", "ms", 200, took)
	if _, err := t.press("/", `document.activeElement.matches(".find input")`); err != nil {
		return err
	}
	if err := t.write(rareWord); err != nil {
		return err
	}
	if took, err = t.press("Enter", `CSS.highlights.get("found").size === 1 && inView(document.querySelector(".row.selected"))`); err != nil {
		return err
	}
	v.add("100,000 rows, a match found and painted", "ms", 200, took)
	memory, err := t.memory()
	v.add("100,000 rows, memory of the page's process", "MB", 220, memory)
	return err
}

func (v *visit) rowsDir() string { return filepath.Join(v.dir, "rows") }

// makeRows writes a session with very many rows: prompts and answers.
func (v *visit) makeRows() (file string, err error) {
	dir := filepath.Join(v.rowsDir(), "projects", "-home-dev-rows")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file = filepath.Join(dir, "00000000-0000-4000-8000-000000000002.jsonl")
	var b strings.Builder
	parent := "null"
	for i := range manyRows / 2 {
		word := ""
		if 2*i == rareRow {
			word = rareWord
		}
		fmt.Fprintf(&b, `{"type":"user","uuid":"p%[1]d","parentUuid":%[2]s,"timestamp":"2026-11-14T12:00:00.000Z","message":{"role":"user","content":"Prompt %[1]d %[3]s"}}
{"type":"assistant","uuid":"a%[1]d","parentUuid":"p%[1]d","timestamp":"2026-11-14T12:00:01.000Z","message":{"id":"m%[1]d","role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"Answer %[1]d. %[4]s"}]}}
`, i, parent, word, strings.Repeat("It has some more words. ", i%20))
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	return file, os.WriteFile(file, []byte(b.String()), 0o600)
}

// pageGrowing appends to the largest session, whose end a page shows.
func (v *visit) pageGrowing(ctx context.Context) error {
	return v.browse(ctx, v.agent(), func(t *tab, s *site) error {
		if _, err := t.open(s.pageOf(v.truth.Largest)); err != nil {
			return err
		}
		if _, err := t.press("G", `document.querySelector(".toolbar [aria-pressed=true]").textContent === "Follow"`); err != nil {
			return err
		}
		for i := range 3 * v.rounds {
			word := fmt.Sprintf("painted%d", i)
			if err := appendPrompt(v.largest(), word); err != nil {
				return err
			}
			began := time.Now()
			at, err := value[float64](t, fmt.Sprintf(`painted(() => {
				const row = [...document.querySelectorAll("article.row")].at(-1);
				return inView(row) && row.textContent.includes(%q);
			}).then((at) => performance.timeOrigin + at)`, word))
			if err != nil {
				return err
			}
			v.add("10 KB appended to 57 MB, painted", "ms", 200, at-float64(began.UnixMicro())/1000)
		}
		return nil
	})
}

// The ways to turn the wheel: by so many pixels, 60 times a second.
var wheels = []struct {
	name   string
	pixels float64
}{{"scrolling", 60}, {"scrolling too fast to read", 240}}

// pageScroll turns the wheel over the largest session, in a page whose processor is slow.
func (v *visit) pageScroll(ctx context.Context) error {
	return v.browse(ctx, v.agent(), func(t *tab, s *site) error {
		if _, err := t.open(s.pageOf(v.truth.Largest)); err != nil {
			return err
		}
		if err := t.settle(); err != nil {
			return err
		}
		if err := t.slow(slowdown); err != nil {
			return err
		}
		for range v.rounds {
			for _, w := range wheels {
				if err := v.wheel(t, w.name, w.pixels); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// wheel turns the wheel from the beginning on, and counts the long tasks meanwhile.
func (v *visit) wheel(t *tab, name string, pixels float64) error {
	if _, err := t.press("g", `inView(document.querySelector("article.row .head"))`); err != nil {
		return err
	}
	if err := t.do("window.longTasks = []"); err != nil {
		return err
	}
	if err := t.turn(wheelSteps, pixels); err != nil {
		return err
	}
	moved, err := value[float64](t, "scrollY")
	if err != nil {
		return err
	}
	if moved < wheelSteps*pixels/2 {
		return fmt.Errorf("the page was scrolled by %.0f pixels only", moved)
	}
	long, err := value[[]float64](t, "longTasks")
	most := 0.0
	for _, took := range long {
		most = max(most, took)
	}
	v.add(name+", CPU slowed 4 times, tasks over 50 ms", "", 0, float64(len(long)))
	v.add(name+", CPU slowed 4 times, the longest of them", "ms", 50, most)
	return err
}

// pageIdle leaves a very long session list alone.
func (v *visit) pageIdle(ctx context.Context) error {
	return v.browse(ctx, v.crowd(), func(t *tab, s *site) error {
		if _, err := t.open(s.address); err != nil {
			return err
		}
		v.add(fmt.Sprintf("%d sessions and a tab, CPU in ten minutes in which nothing happens", v.crowded), "s", 0.5, s.idle())
		return nil
	})
}

func (r *report) writePages(b *strings.Builder) { writeFeelings(b, "clew serve, in Chromium", r.Pages) }
