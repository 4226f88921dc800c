package termio

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// DrawsLines reports whether boxes are drawn with lines on this terminal.
var DrawsLines = func() bool { return narrowLines(locale()) }

// narrowLines reports whether a terminal in this locale has lines, in one column each. In East Asia
// they may take two.
func narrowLines(locale string) bool {
	return isUTF8(locale) && !slices.Contains([]string{"ja", "ko", "zh"}, strings.ToLower(locale[:2]))
}

// locale returns the locale of texts.
func locale() string {
	return cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
}

// UTF8Locale reports whether the locale is one of UTF-8.
func UTF8Locale() bool { return isUTF8(locale()) }

func isUTF8(locale string) bool {
	locale = strings.ToLower(locale)
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// KnowsLinks reports whether a terminal may show links (OSC 8). On terminals that surely don't, a
// reader would not see the target of a link.
func KnowsLinks(terminal, program string) bool {
	for _, old := range []string{"linux", "dumb", "screen", "vt", "cons"} {
		if strings.HasPrefix(terminal, old) {
			return false
		}
	}
	return program != "Apple_Terminal"
}

// CutsLines reports whether the terminal is one of the few that cut lines when they become narrower. The
// others break them.
func CutsLines(getenv func(string) string) bool {
	name, _, _ := strings.Cut(getenv("TERM"), "-")
	switch {
	case getenv("TMUX") != "":
		return false
	case getenv("STY") != "": // screen
		return true
	}
	isXterm := name == "xterm" && getenv("XTERM_VERSION") != "" && getenv("VTE_VERSION")+getenv("TERM_PROGRAM") == ""
	return isXterm || slices.Contains([]string{"linux", "st", "screen", "vt100", "vt220"}, name)
}
