// Package usage adds up the usage and the cost of model calls.
//
// A [Call] is one answer of the model. Package transcript returns a session's calls, and
// sessions.ScanUsage the calls of all sessions. [Cost] prices them, [NewReport] groups them by
// model, day, project and so on, and [FiveHourBlocks] returns the blocks of five hours that
// subscriptions are limited by:
//
//	calls := t.Calls()
//	costs := usage.Cost(calls, usage.DefaultPrices())
//	fmt.Println(costs.Total, costs.Usage.TotalTokens())
//
// A [Tally] counts each answer once, although the agent writes an answer as several lines and
// copies it into forks. A [CallDecoder] reads the calls from the lines of a transcript without
// decoding the rest.
//
// Costs are estimates from list prices, see [DefaultPrices]. [Reconcile] compares them with the
// totals that the agent itself wrote down.
//
// The package does no I/O.
//
// Of all copies of an answer a Tally keeps the best in a total order, so that goroutines and the
// order of files don't matter. Money is a whole number of 10⁻¹² dollars. The prices are the agent's
// own: a test makes the agent price crafted usage for each model, and fails when a new version
// changes a price. A model whose name only starts like a known one is unknown: its tokens are
// counted and have no cost.
package usage
