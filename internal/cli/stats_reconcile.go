package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// printReconciliation compares the sessions that have an account of the agent
// with that. Others have nothing to be compared with.
func (o *statsOptions) printReconciliation(used *sessions.UsageReport, prices transcript.Prices) error {
	accounts := map[string]bool{}
	for _, s := range used.CostStates {
		accounts[s.SessionID] = true
	}
	all := used.Tally.Calls()
	calls := slices.DeleteFunc(slices.Clone(all), func(c transcript.Call) bool { return !accounts[c.SessionID] })
	r := &reconciliation{
		Reconciliation: transcript.Reconcile(calls, used.CostStates, prices),
		PricesDate:     prices.Date, Sessions: len(accounts), LeftOut: len(all) - len(calls),
	}
	switch {
	case o.json:
		return o.writeJSON(r)
	case len(accounts) == 0:
		return o.write("no accounts of the agent: it writes one when a session ends, and older ones write none\n")
	}
	return o.write(r.text(o.canvas().width))
}

type reconciliation struct {
	transcript.Reconciliation
	PricesDate string `json:"pricesDate"`
	Sessions   int    `json:"sessions"`
	// LeftOut counts the answers in sessions that have no account.
	LeftOut int `json:"leftOut"`
}

func (r *reconciliation) text(columns int) string {
	w := new(strings.Builder)
	t := newTable("MODEL", "TOKENS>", "AGENT'S TOKENS>", "COST>", "AGENT'S COST>", "DIFFERENCE>", "WHY")
	tokens, own := 0, 0
	var reasons []transcript.Reason
	for i := range r.Models {
		m := &r.Models[i]
		computed := m.Computed.Cost.String()
		if m.Computed.UnknownCost {
			computed += "+"
		}
		tokens += m.Computed.Usage.TotalTokens()
		own += m.Agent.Usage.TotalTokens()
		reasons = append(reasons, m.Reason)
		t.add(clip(cmp.Or(m.Computed.Model, "(unknown)")), group(int64(m.Computed.Usage.TotalTokens())),
			group(int64(m.Agent.Usage.TotalTokens())), computed, m.Agent.Cost.String(), m.Cost.String(), string(m.Reason))
	}
	t.add("total", group(int64(tokens)), group(int64(own)),
		r.Computed.String(), r.Agent.String(), r.Difference.String(), "")
	t.print(w, columns)
	covered := fmt.Sprintf("sessions with an account of the agent: %s; answers in others, left out: %s",
		group(int64(r.Sessions)), group(int64(r.LeftOut)))
	w.WriteString("\n" + wrapped(covered, columns))
	for _, e := range explanations {
		if slices.Contains(reasons, e.reason) {
			w.WriteString(wrapped(fmt.Sprintf("%s: %s", e.reason, e.text), columns))
		}
	}
	return w.String()
}

var explanations = []struct {
	reason transcript.Reason
	text   string
}{
	{transcript.ReasonUnwritten, "the agent counts calls that no transcript has, such as those for titles and summaries"},
	{transcript.ReasonUncounted, "the transcripts have answers that the agent did not count, such as interrupted ones"},
	{transcript.ReasonBoth, "each has calls that the other has not"},
	{transcript.ReasonPrice, "the tokens agree, and the prices don't"},
	{transcript.ReasonUnknownPrice, "the tokens agree, and no price is known"},
}
