package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// maxPrices is how long a file of prices may be.
const maxPrices = 4 << 20

// readPrices returns the built-in prices, with those of the user's file.
func (o *statsOptions) readPrices(ctx context.Context) (transcript.Prices, error) {
	prices := transcript.DefaultPrices()
	if o.prices == "" {
		return prices, nil
	}
	data, err := await(ctx, func() ([]byte, error) { return readAtMost(o.prices, maxPrices) })
	if ctx.Err() != nil {
		return prices, errStopped()
	}
	var own transcript.Prices
	if err == nil {
		own, err = transcript.ParsePrices(data)
	}
	if err != nil {
		text := strings.TrimPrefix(cause(err).Error(), "transcript: ")
		return prices, &failure{
			code: exitInput,
			err:  fmt.Errorf("%s cannot be used: %s", printable(o.prices), escaped(text)),
			hint: `Run "clew stats --help" for what a file of prices has.`,
		}
	}
	if own.USPercent > 0 {
		prices.USPercent = own.USPercent
	}
	return prices.With(own.Models), nil
}

func readAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is longer than %s", formatSize(most))
	}
	return data, err
}

func (o *statsOptions) printPrices(p transcript.Prices) error {
	if o.json {
		return o.writeJSON(p)
	}
	w := new(strings.Builder)
	columns := o.canvas().width
	title := fmt.Sprintf("List prices of %s, in dollars for a million tokens:", p.Date)
	w.WriteString(wrapped(title, columns) + "\n")
	t := newTable("MODEL", "INPUT>", "OUTPUT>", "CACHE READ>", "WRITE 5M>", "WRITE 1H>", "FAST>")
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[name]
		fast := ""
		if m.FastMultiplier > 0 {
			fast = fmt.Sprintf("x%d", m.FastMultiplier)
		}
		t.add(append(append([]string{name}, shownRates(&m.Rates)...), fast)...)
		if long := m.LongPrompt; long != nil {
			t.add(append(append([]string{"  above " + group(int64(long.AboveTokens))}, shownRates(&long.Rates)...), "")...)
		}
	}
	t.print(w, columns)
	return o.write(w.String())
}

func shownRates(r *transcript.Rates) []string {
	return []string{
		r.Input.Decimal(), r.Output.Decimal(), r.CacheRead.Decimal(), r.CacheWrite5m.Decimal(), r.CacheWrite1h.Decimal(),
	}
}
