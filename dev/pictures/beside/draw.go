package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/clewdev/clew/cmd/clew/dev/pictures/browser"
)

// Sizes in pixels.
const (
	charWidth  = 8.5
	lineHeight = 18
	margin     = 14
)

// draw makes a picture of windows side by side.
func draw(ctx context.Context, dir, picture string, columns int, windows ...window) error {
	return dark.draw(ctx, dir, picture, columns, windows...)
}

func (t theme) draw(ctx context.Context, dir, picture string, columns int, windows ...window) error {
	var b strings.Builder
	b.WriteString(`<meta charset="utf-8"><style>` +
		`body{margin:0;display:flex;gap:14px;background:#444;font:14px/18px "DejaVu Sans Mono",monospace}` +
		`div{background:` + t.ground + `;color:` + t.text + `;padding:0 14px 14px}h1{font-size:13px;color:#9a9a9a;margin:8px 0}` +
		`pre{margin:0;font:inherit}</style>`)
	height := 0
	for _, w := range windows {
		lines := strings.Split(strings.TrimRight(w.lines, "\n "), "\n")
		height = max(height, len(lines))
		fmt.Fprintf(&b, `<div style="width:%.0fpx"><h1>%s</h1><pre>%s</pre></div>`, float64(columns)*charWidth,
			html.EscapeString(w.title), t.markUp(strings.Join(lines, "\n")))
	}
	page := filepath.Join(dir, "beside.html")
	if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
		return err
	}
	width := len(windows) * (int(float64(columns)*charWidth) + 3*margin)
	return browser.Shoot(ctx, page, picture, width, (height+3)*lineHeight)
}

// sequence is an escape sequence for styles, or a sequence that a picture does not need.
var sequence = regexp.MustCompile(`\x1b\[([0-9;:]*)m|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b[()][A-Z0-9]|[\x0e\x0f]`)

// markUp returns the lines of a window as HTML.
func (t theme) markUp(lines string) string {
	var b strings.Builder
	now := look{theme: t}
	write := func(text string) {
		if text != "" {
			fmt.Fprintf(&b, `<span style="%s">%s</span>`, now.style(), html.EscapeString(text))
		}
	}
	end := 0
	for _, at := range sequence.FindAllStringSubmatchIndex(lines, -1) {
		write(lines[end:at[0]])
		if at[2] >= 0 {
			now.change(strings.FieldsFunc(lines[at[2]:at[3]], func(r rune) bool { return r == ';' || r == ':' }))
		}
		end = at[1]
	}
	write(lines[end:])
	return b.String()
}

// A look is the style of characters.
type look struct {
	theme                                           theme
	bold, dim, italic, underlined, struck, reversed bool

	color, ground string // "" is the terminal's own
}

// change carries out the numbers of an escape sequence.
func (l *look) change(numbers []string) {
	if len(numbers) == 0 {
		*l = look{theme: l.theme}
	}
	for i := 0; i < len(numbers); i++ {
		n, _ := strconv.Atoi(numbers[i]) // capture-pane writes numbers only
		switch {
		case n == 0:
			*l = look{theme: l.theme}
		case n == 38 || n == 48:
			color, used := l.theme.manyColors(numbers[i+1:])
			i += used
			if n == 38 {
				l.color = color
			} else {
				l.ground = color
			}
		case n == 39:
			l.color = ""
		case n == 49:
			l.ground = ""
		case n >= 30 && n <= 37:
			l.color = l.theme.palette[n-30]
		case n >= 90 && n <= 97:
			l.color = l.theme.palette[n-90+8]
		case n >= 40 && n <= 47:
			l.ground = l.theme.palette[n-40]
		default:
			l.turn(n)
		}
	}
}

// turn turns one attribute on or off.
func (l *look) turn(n int) {
	on := n < 20
	switch n {
	case 1:
		l.bold = true
	case 2:
		l.dim = true
	case 22:
		l.bold, l.dim = false, false
	case 3, 23:
		l.italic = on
	case 4, 24:
		l.underlined = on
	case 7, 27:
		l.reversed = on
	case 9, 29:
		l.struck = on
	}
}

// A theme has the colors of a terminal: its own, and the 16 that programs name.
type theme struct {
	name, text, ground string
	palette            [16]string
}

var (
	dark = theme{"dark", "#d8d8d8", "#1d1f21", [16]string{
		"#282a2e", "#e06c6c", "#8fbf6f", "#e0b860", "#6c9ee0", "#b98ad0", "#6fc0b8", "#c8c8c8",
		"#707880", "#ff7f7f", "#a8d88a", "#ffd070", "#82b0ff", "#d0a0e8", "#88d8d0", "#ffffff",
	}}
	light = theme{"light", "#303030", "#fbfbf8", [16]string{
		"#303030", "#b02020", "#2f7d20", "#8a6200", "#1f55b0", "#8030a0", "#00707a", "#707070",
		"#8a8a8a", "#d03030", "#3f9a2f", "#a87800", "#3068d0", "#9a45bd", "#008890", "#101010",
	}}
)

// manyColors returns the color that the numbers after a 38 or 48 name, and how many they are.
func (t theme) manyColors(numbers []string) (color string, used int) {
	value := func(i int) int {
		n, _ := strconv.Atoi(numbers[i])
		return n
	}
	switch {
	case len(numbers) >= 4 && numbers[0] == "2":
		return fmt.Sprintf("rgb(%d,%d,%d)", value(1), value(2), value(3)), 4
	case len(numbers) >= 2 && numbers[0] == "5":
		return t.indexed(value(1)), 2
	default:
		return "", len(numbers)
	}
}

// indexed returns one of the 256 colors that terminals number.
func (t theme) indexed(n int) string {
	switch {
	case n < 16:
		return t.palette[n]
	case n < 232:
		level := func(i int) int {
			if i == 0 {
				return 0
			}
			return 55 + 40*i
		}
		n -= 16
		return fmt.Sprintf("rgb(%d,%d,%d)", level(n/36), level(n/6%6), level(n%6))
	default:
		gray := 8 + 10*(n-232)
		return fmt.Sprintf("rgb(%d,%d,%d)", gray, gray, gray)
	}
}

// style returns the look as CSS.
func (l look) style() string {
	color, ground := l.color, l.ground
	if l.reversed {
		if color == "" {
			color = l.theme.text
		}
		if ground == "" {
			ground = l.theme.ground
		}
		color, ground = ground, color
	}
	var b strings.Builder
	add := func(on bool, rule string) {
		if on {
			b.WriteString(rule + ";")
		}
	}
	add(color != "", "color:"+color)
	add(ground != "", "background:"+ground)
	add(l.bold, "font-weight:bold")
	add(l.dim, "opacity:.6")
	add(l.italic, "font-style:italic")
	add(l.underlined, "text-decoration:underline")
	add(l.struck, "text-decoration:line-through")
	return b.String()
}
