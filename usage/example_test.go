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

// Two lines of one answer count once, with the final count.
func ExampleTally() {
	var tally usage.Tally
	for _, line := range []string{
		`{"type":"user","message":{"role":"user","content":"Hi"}}`,
		`{"type":"assistant","requestId":"r","message":{"id":"m","model":"claude-opus-5-5","usage":{"output_tokens":1}}}`,
		`{"type":"assistant","requestId":"r","message":{"id":"m","model":"claude-opus-5-5","usage":{"output_tokens":90}}}`,
	} {
		if err := tally.AddLine([]byte(line)); err != nil {
			log.Fatal(err)
		}
	}
	sum, answers := tally.Total()
	fmt.Println(answers, "answer,", sum.OutputTokens, "tokens")
	// Output: 1 answer, 90 tokens
}

func ExampleFiveHourBlocks() {
	morning := time.Date(2026, 11, 15, 9, 20, 0, 0, time.UTC)
	tokens := usage.Usage{OutputTokens: 30_000}
	calls := []usage.Call{
		{Model: "claude-opus-5-5", Time: morning, Usage: tokens},
		{Model: "claude-opus-5-5", Time: morning.Add(time.Hour), Usage: tokens},
	}
	now := morning.Add(2 * time.Hour)
	for _, block := range usage.FiveHourBlocks(calls, &usage.FiveHourBlockOptions{Now: now}) {
		fmt.Println(block.Start.Format(time.Kitchen), block.Usage.OutputTokens, block.Cost, block.Burn.TokensPerMinute)
		if block.Active {
			fmt.Println(block.Projection.Remaining, "left,", block.Projection.Cost, "at the end")
		}
	}
	// Output:
	// 9:00AM 60000 $1.2000 1000
	// 2h40m0s left, $4.4000 at the end
}

// The agent also counts calls that leave no line in a transcript.
func ExampleReconcile() {
	state, err := usage.DecodeCostState([]byte(`{"type":"cost-state","totalCostUSD":0.03,
		"modelUsage":{"claude-opus-5-5":{"outputTokens":1500,"costUSD":0.03}}}`))
	if err != nil {
		log.Fatal(err)
	}
	calls := []usage.Call{{Model: "claude-opus-5-5", Usage: usage.Usage{OutputTokens: 1000}}}
	r := usage.Reconcile(calls, []usage.CostState{state}, usage.DefaultPrices())
	fmt.Println(r.Agent, "-", r.Computed, "=", r.Difference)
	for _, m := range r.Models {
		fmt.Println(m.Computed.Model, m.Usage.OutputTokens, m.Reason)
	}
	// Output:
	// $0.0300 - $0.0200 = $0.0100
	// claude-opus-5-5 500 unwritten
}
