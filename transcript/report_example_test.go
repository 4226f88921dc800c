package transcript_test

import (
	"fmt"
	"time"

	"github.com/clewdev/clew/transcript"
)

func ExampleNewReport() {
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	calls := []transcript.Call{ // usually those of a Tally
		{Model: "claude-opus-5-5", Time: noon, Usage: transcript.Usage{InputTokens: 1200, OutputTokens: 800}},
		{Model: "claude-opus-5-5", Time: noon.Add(24 * time.Hour), Usage: transcript.Usage{CacheReadTokens: 90_000}},
		{Model: "some-model", Time: noon.Add(25 * time.Hour), Usage: transcript.Usage{InputTokens: 500}},
	}
	report := transcript.NewReport(calls, &transcript.ReportOptions{By: []transcript.Dimension{transcript.ByDay}})
	for _, row := range report.Rows {
		fmt.Println(row.Key.Day, row.Usage.TotalTokens(), row.Cost, row.UnknownCost)
	}
	fmt.Println("total", report.Total.Usage.TotalTokens(), report.Total.Cost)
	// Output:
	// 2026-11-15 2000 $0.0208 false
	// 2026-11-16 90500 $0.0180 true
	// total 92500 $0.0388
}

func ExamplePrices_With() {
	own, err := transcript.ParsePrices([]byte(`{"models": {"some-model": {
		"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite5m": 1, "cacheWrite1h": 1, "webSearch": 0
	}}}`))
	if err != nil {
		panic(err)
	}
	prices := transcript.DefaultPrices().With(own.Models)
	cost, known := prices.Cost(&transcript.Call{Model: "some-model", Usage: transcript.Usage{InputTokens: 500}})
	fmt.Println(cost, known)
	// Output: $0.0005 true
}
