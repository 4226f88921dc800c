package benchreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page is a report with one table and two goals.
type page struct {
	Machine
	Rows  []string `json:"rows"`
	Goals Goals    `json:"goals"`
}

func (p *page) WriteMarkdown(b *strings.Builder) {
	Table(b, "| name | length |", p.Rows, func(s string) string { return "| " + s + " | 1 |" })
	p.Goals.Write(b)
}

func example() *page {
	p := &page{Machine: Machine{"go1", "linux"}, Rows: []string{"a", "b"}}
	p.Goals.AtLeast("speed", 7, "×", 7.126)
	p.Goals.AtMost("memory", 0.5, "MB", 0.75)
	return p
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, example(), false); err != nil {
		t.Fatal(err)
	}
	want := `| name | length |
|---|--:|
| a | 1 |
| b | 1 |

| goal | bound | measured | reached |
|---|--:|--:|---|
| speed | ≥ 7 × | 7.13 × | yes |
| memory | ≤ 0.5 MB | 0.75 MB | no |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, example(), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"go": "go1"`, `"rows": [`, `"at_most": true`, `"reached": false`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in %s", want, b.String())
		}
	}
}

// A part that was not measured is left out.
func TestEmptyReport(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, new(page), false); err != nil || b.Len() > 0 {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 9}, 3},
	} {
		if got := Median(tt.values); got != tt.want {
			t.Errorf("the median of %v is %v, want %v", tt.values, got, tt.want)
		}
	}
}
