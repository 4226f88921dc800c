package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A byteSize is a flag: a whole number, with or without a unit.
type byteSize int

// sizeUnits are in the order in which they are tried: "B" ends the others too.
var sizeUnits = []struct {
	name  string
	bytes uint64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// Type names the sort of value in the help.
func (s *byteSize) Type() string { return "size" }

// String writes the size with the largest unit that it is a multiple of.
func (s *byteSize) String() string {
	for _, u := range sizeUnits {
		if n := uint64(*s); n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// Set reads a size. Units may be in any case.
func (s *byteSize) Set(text string) error {
	number, unit := text, uint64(1)
	for _, u := range sizeUnits {
		if cut := len(text) - len(u.name); cut > 0 && strings.EqualFold(text[cut:], u.name) {
			number, unit = strings.TrimSpace(text[:cut]), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || n > math.MaxInt/unit {
		return fmt.Errorf("a size is a positive whole number of bytes, such as 500000, 512KiB or 64MiB")
	}
	*s = byteSize(n * unit)
	return nil
}

// formatSize writes a size for people, in three digits.
func formatSize(n int64) string {
	units := []string{"kB", "MB", "GB", "TB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
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

// group writes a number with a comma between thousands.
func group(n int64) string {
	digits, negative := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}
