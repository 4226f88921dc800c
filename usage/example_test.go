package usage_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// The price of a call that the table has no price for is not guessed.
func ExampleCost() {
	file, err := os.Open("../transcript/testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := append(t.Calls(), usage.Call{Model: "my-model", Usage: usage.Usage{InputTokens: 100}})
	costs := usage.Cost(calls, usage.DefaultPrices())
	for i, call := range calls {
		fmt.Println(call.Model, call.Usage.TotalTokens(), costs.Calls[i])
	}
	fmt.Println("in all", costs.Total, "without", costs.Unknown[0].Model)
	// Output:
	// claude-opus-5-5 9290 $0.0466
	// claude-opus-5-5 9365 $0.0029
	// claude-opus-5-5 9368 $0.0021
	// my-model 100 $0.0000
	// in all $0.0515 without my-model
}

func ExampleNewReport() {
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	calls := []usage.Call{ // usually those of a Tally
		{Model: "claude-opus-5-5", Time: noon, Usage: usage.Usage{InputTokens: 1200, OutputTokens: 800}},
		{Model: "claude-opus-5-5", Time: noon.Add(24 * time.Hour), Usage: usage.Usage{CacheReadTokens: 90_000}},
		{Model: "some-model", Time: noon.Add(25 * time.Hour), Usage: usage.Usage{InputTokens: 500}},
	}
	report := usage.NewReport(calls, &usage.ReportOptions{By: []usage.Dimension{usage.ByDay}})
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
	own, err := usage.ParsePrices([]byte(`{"models": {"some-model": {
		"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite5m": 1, "cacheWrite1h": 1, "webSearch": 0
	}}}`))
	if err != nil {
		panic(err)
	}
	prices := usage.DefaultPrices().With(own.Models)
	cost, known := prices.Cost(&usage.Call{Model: "some-model", Usage: usage.Usage{InputTokens: 500}})
	fmt.Println(cost, known)
	// Output: $0.0005 true
}
