package wording

import (
	"fmt"
	"strings"
)

// Number writes a number with commas between thousands: 23,045.
func Number[N int | int64 | uint64](n N) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Count writes a number with its noun: 1 turn, 1,200 turns.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Rounded writes a number in at most four characters and a unit: 950, 21.4k, 155k, 1.2M.
func Rounded(n int) string {
	size := float64(n)
	for _, unit := range []string{"", "k", "M", "G", "T"} {
		switch {
		case size < 999.5 && (unit == "" || size >= 99.95):
			return fmt.Sprintf("%.0f%s", size, unit)
		case size < 99.95:
			return strings.Replace(fmt.Sprintf("%.1f%s", size, unit), ".0", "", 1)
		case unit == "T":
			return fmt.Sprintf("%.0f%s", size, unit)
		}
		size /= 1000
	}
	return ""
}

// Percent writes a percentage: 0 %, <1 %, 7 %.
func Percent(percent float64) string {
	if percent > 0 && percent <= 0.5 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// Tokens writes a rounded number of tokens: 1 token, 21.4k tokens.
func Tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return Rounded(n) + " tokens"
}

// Size writes a number of bytes in two or three digits. A kilobyte has 1000 bytes: 999 B, 9.9 kB,
// 450 MB.
func Size[N int | int64](n N) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units := []string{"kB", "MB", "GB", "TB"}
	size := float64(n) / 1000
	for size >= 999.5 && len(units) > 1 {
		size /= 1000
		units = units[1:]
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %s", size, units[0])
	}
	return fmt.Sprintf("%.0f %s", size, units[0])
}
