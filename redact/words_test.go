package redact

import (
	"flag"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write pairs.txt and testdata")

var nameInCode = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_.-]{2,28}`)

// With -update, TestLetterPairs counts the pairs again, in Go's source.
func TestLetterPairs(t *testing.T) {
	if *update {
		names := make(map[string]float64)
		for _, text := range sources(t, 1) {
			for _, name := range nameInCode.FindAllString(text, -1) {
				names[name]++
			}
		}
		var pairs [pairKinds][pairKinds]float64
		for name, n := range names {
			if n < 3 {
				continue
			}
			last := pairBorder
			count := func(kind int) {
				if last != pairBorder || kind != pairBorder {
					pairs[last][kind] += math.Sqrt(n)
				}
				last = kind
			}
			for at := 0; at < len(name); {
				end := at + 1
				if isAlphanumeric(name[at]) {
					end = wordEnd(name, at)
					if at > 0 {
						count(pairBorder)
					}
				}
				for ; at < end; at++ {
					count(pairKind(name[at]))
				}
			}
			count(pairBorder)
		}
		var b strings.Builder
		for _, row := range pairs {
			sum := 0.0
			for _, n := range row {
				sum += n
			}
			for _, n := range row {
				bits := 4 * math.Log2((sum+pairKinds/2)/(n+0.5))
				b.WriteByte('0' + byte(min(math.Round(bits), 60)))
			}
			b.WriteByte('\n')
		}
		if err := os.WriteFile("pairs.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(letterPairs) != pairKinds*(pairKinds+1) {
		t.Errorf("pairs.txt has %d bytes", len(letterPairs))
	}
}
