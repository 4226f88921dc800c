package usage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
)

// A Reconciliation sets what the calls of transcripts cost against the agent's own account.
// Differences are the agent's counts minus the transcripts' counts. A positive difference means
// that the agent counts more.
type Reconciliation struct {
	// Models are the comparisons by model, sorted by name. A model that only one side has is there
	// as well.
	Models []ModelReconciliation `json:"models"`
	// Computed is the cost of the calls by the table of prices.
	Computed Money `json:"computed"`
	// Agent is the cost by the agent's account.
	Agent Money `json:"agent"`
	// Difference is Agent minus Computed.
	Difference Money `json:"difference"`
	// UnknownCost reports whether Computed is not all: the price of a model is not known.
	UnknownCost bool `json:"unknownCost,omitempty"`
	// AgentGuessed reports whether the agent did not know the price of a model and used the price
	// of its main model.
	AgentGuessed bool `json:"agentGuessed,omitempty"`
}

// A ModelReconciliation is the part of a [Reconciliation] that is about one model.
type ModelReconciliation struct {
	// Computed is the sum over the transcripts. Its model is the name as the table of prices has
	// it. Its counts are 0 if the transcripts have no call of the model.
	Computed ModelCost `json:"computed"`
	// Agent is the agent's account of the model, under all names that the table has for it. It is
	// the zero value if the account does not have the model.
	Agent ModelState `json:"agent"`
	// Usage is the difference of the counts. Only what the agent is billed for is compared: parts
	// of other counts and web fetches are 0.
	Usage Sum `json:"usage"`
	// Cost is the difference of the costs.
	Cost Money `json:"cost"`
	// Reason describes how the two differ, or is "" if they agree.
	Reason Reason `json:"reason,omitempty"`
}

// A Reason describes a difference between the transcripts and the agent's account, and its known
// causes. Empty means not at all.
type Reason string

// The reasons.
const (
	// ReasonUnwritten: the agent counts more. Some calls leave no line in a transcript, such as
	// those for titles, for summaries of compactions and of web pages. And since 2.1.326 the agent
	// counts a guess of the text of an interrupted answer, of which a transcript has the usage at its start.
	ReasonUnwritten Reason = "unwritten"
	// ReasonUncounted: the transcripts have more. Before 2.1.326 the agent does not count an answer that
	// was interrupted, and a process that is killed leaves no account.
	ReasonUncounted Reason = "uncounted"
	// ReasonBoth: each has something that the other has not.
	ReasonBoth Reason = "both"
	// ReasonPrice: the tokens agree, and the prices don't. The table is of another day, an
	// administrator has set prices, or a model answered that was not asked.
	ReasonPrice Reason = "price"
	// ReasonUnknownPrice: the tokens agree, and the table has no price.
	ReasonUnknownPrice Reason = "unknown price"
)

// Reconcile compares calls with the agent's accounts of the same sessions, as far as they go: of
// one session, with its subagents, or of many. For many, the calls should come from one [Tally],
// where each counts once. For a fork alone, they should be all calls in its transcript, including
// copied ones, since its account has them; but of a fork that a program made, only the calls that
// are not Forked.
func Reconcile(calls []Call, states []CostState, prices Prices) Reconciliation {
	n := pricer{prices: prices}
	models := make(map[string]*ModelReconciliation)
	at := func(name string) *ModelReconciliation {
		name = n.model(name).name
		if models[name] == nil {
			models[name] = &ModelReconciliation{Computed: ModelCost{Model: name}}
		}
		return models[name]
	}
	var computed account
	for i := range calls {
		cost, known := n.cost(&calls[i])
		computed.add(n.model(calls[i].Model).name, &calls[i], cost, known)
	}
	for _, m := range computed.totals().Models {
		at(m.Model).Computed = m
	}
	own := sumStates(states)
	for name, m := range own.Models {
		r := at(name)
		r.Agent = r.Agent.plus(m, 1)
	}
	result := Reconciliation{Agent: own.TotalCost, AgentGuessed: own.HasUnknownModelCost}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		result.add(models[name])
	}
	result.Difference = result.Agent.plus(-result.Computed)
	return result
}

func (r *Reconciliation) add(m *ModelReconciliation) {
	m.Usage = m.Agent.Usage.billed().plus(m.Computed.Usage.billed(), -1)
	m.Cost = m.Agent.Cost.plus(-m.Computed.Cost)
	m.Reason = m.reason()
	r.Models = append(r.Models, *m)
	r.Computed = r.Computed.plus(m.Computed.Cost)
	r.UnknownCost = r.UnknownCost || m.Computed.UnknownCost
}

// floatNoise is the tolerance for sums that the agent made with floating point numbers.
const floatNoise = Dollar / 1_000_000_000

func (m *ModelReconciliation) reason() Reason {
	more, less := m.Usage.signs()
	switch {
	case more && less:
		return ReasonBoth
	case more:
		return ReasonUnwritten
	case less:
		return ReasonUncounted
	case m.Computed.UnknownCost:
		return ReasonUnknownPrice
	case m.Cost > floatNoise || m.Cost < -floatNoise:
		return ReasonPrice
	}
	return ""
}

// billed returns the counts that have a price, without counts that are parts of others.
func (s Sum) billed() Sum {
	return Sum{
		InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, CacheReadTokens: s.CacheReadTokens,
		CacheCreationTokens: s.CacheCreationTokens, WebSearches: s.WebSearches,
	}
}

// signs reports whether there are counts above and below 0.
func (s Sum) signs() (above, below bool) {
	for _, n := range []int{s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheCreationTokens, s.WebSearches} {
		above, below = above || n > 0, below || n < 0
	}
	return above, below
}

func (m ModelState) plus(o ModelState, n int) ModelState {
	return ModelState{m.Usage.plus(o.Usage, n), m.Cost.plus(Money(n) * o.Cost)}
}

// sumStates adds accounts up. Those with the same start are one account that continued, in its own
// session and in forks: of each only what it adds to the one before counts.
func sumStates(states []CostState) CostState {
	sum := CostState{Models: make(map[string]ModelState)}
	accounts := make(map[any][]*CostState)
	for i := range states {
		var key any = states[i].Start
		if states[i].Start.IsZero() {
			key = states[i].SessionID
		}
		accounts[key] = append(accounts[key], &states[i])
	}
	for _, account := range accounts {
		slices.SortStableFunc(account, func(a, b *CostState) int { return cmp.Compare(a.Duration, b.Duration) })
		for i, s := range account {
			sum.plus(s, 1)
			if before := s.before(account[:i]); before != nil {
				sum.plus(before, -1)
			}
		}
	}
	return sum
}

// plus adds n times o.
func (s *CostState) plus(o *CostState, n int) {
	s.TotalCost = s.TotalCost.plus(Money(n) * o.TotalCost)
	for name, m := range o.Models {
		s.Models[name] = s.Models[name].plus(m, n)
	}
	s.HasUnknownModelCost = s.HasUnknownModelCost || o.HasUnknownModelCost
}

// before returns the account that s continued from, or nil: the last one of its session, or else
// the largest that s can have started with. A fork does not record which one it started with; at
// worst, too much of it counts as inherited.
func (s *CostState) before(earlier []*CostState) *CostState {
	var other *CostState
	for _, e := range slices.Backward(earlier) {
		switch {
		case !s.includes(e):
		case e.SessionID == s.SessionID || e.includes(s):
			return e
		case other == nil:
			other = e
		}
	}
	return other
}

// includes reports whether everything that o counts can be in s.
func (s *CostState) includes(o *CostState) bool {
	if s.TotalCost < o.TotalCost-floatNoise {
		return false
	}
	for name, m := range o.Models {
		if _, less := s.Models[name].Usage.billed().plus(m.Usage.billed(), -1).signs(); less {
			return false
		}
	}
	return true
}

// A CostState is the agent's own account of a session's usage. It writes one when its process ends
// in peace, or moves on to another session; it writes none when it is killed.
//
// A process that resumes a session continues from the last account, and so does a fork that the
// agent makes, from the account of the session that it was forked from. So of several accounts with
// the same Start the last one has everything, and the accounts of forks have the start in common:
// [Reconcile] takes care of that. A fork that a program made, as sessions.Fork does, starts a
// separate account.
type CostState struct {
	// SessionID is the ID of the session that the account is written in.
	SessionID string `json:"sessionId"`
	// TotalCost is the cost of all models, as the agent computed it.
	TotalCost Money `json:"totalCost"`
	// Models is the usage of each model, by the name that the agent asked for. It may be an alias
	// of the name that the answers have.
	Models map[string]ModelState `json:"models"`
	// HasUnknownModelCost reports whether the agent did not know the price of a model. It counts
	// such a model at the price of its main model.
	HasUnknownModelCost bool `json:"hasUnknownModelCost,omitempty"`

	// Start is the start time of the session, or the zero time if the line does not have it. A
	// session that was resumed keeps it.
	Start time.Time `json:"start,omitzero"`
	// Duration is the time the session ran, without pauses between processes.
	Duration time.Duration `json:"duration"`
	// APIDuration is the time of all model calls.
	APIDuration time.Duration `json:"apiDuration"`
	// APIDurationWithoutRetries is the time of the model calls that succeeded.
	APIDurationWithoutRetries time.Duration `json:"apiDurationWithoutRetries"`
	// ToolDuration is the time of all tool calls, from totalToolDuration.
	ToolDuration time.Duration `json:"toolDuration"`

	// LinesAdded is the number of lines that the agent added to files, from totalLinesAdded.
	LinesAdded int `json:"linesAdded"`
	// LinesRemoved is the number of lines that the agent removed from files, from
	// totalLinesRemoved.
	LinesRemoved int `json:"linesRemoved"`
}

// A ModelState is the usage of a model, by the agent's own account. It comes from the member
// modelUsage.
type ModelState struct {
	// Usage counts the tokens and searches. The agent does not count web fetches: that is 0.
	Usage Sum `json:"usage"`
	// Cost is the cost in the agent's account.
	Cost Money `json:"cost"`
}

// costStateLine is a CostState as the agent writes it. Durations are milliseconds, and not always
// whole ones.
type costStateLine struct {
	SessionID                      string                `json:"sessionId"`
	TotalCostUSD                   Money                 `json:"totalCostUSD"`
	ModelUsage                     map[string]modelUsage `json:"modelUsage"`
	HasUnknownModelCost            bool                  `json:"hasUnknownModelCost"`
	StartTime                      float64               `json:"startTime"`
	TotalDuration                  float64               `json:"totalDuration"`
	TotalAPIDuration               float64               `json:"totalAPIDuration"`
	TotalAPIDurationWithoutRetries float64               `json:"totalAPIDurationWithoutRetries"`
	TotalToolDuration              float64               `json:"totalToolDuration"`
	TotalLinesAdded                int                   `json:"totalLinesAdded"`
	TotalLinesRemoved              int                   `json:"totalLinesRemoved"`
}

type modelUsage struct {
	InputTokens                         int   `json:"inputTokens"`
	OutputTokens                        int   `json:"outputTokens"`
	ThinkingTokens                      int   `json:"thinkingTokens"`
	CacheReadInputTokens                int   `json:"cacheReadInputTokens"`
	CacheCreationInputTokens            int   `json:"cacheCreationInputTokens"`
	CacheCreationEphemeral5mInputTokens int   `json:"cacheCreationEphemeral5mInputTokens"`
	CacheCreationEphemeral1hInputTokens int   `json:"cacheCreationEphemeral1hInputTokens"`
	WebSearchRequests                   int   `json:"webSearchRequests"`
	CostUSD                             Money `json:"costUSD"`
}

// DecodeCostState decodes a line of a transcript whose type is cost-state. It returns an error if
// the line is not a JSON object or a count is not a number. It does not check the type. Members
// that are missing are 0.
func DecodeCostState(data []byte) (CostState, error) {
	var line costStateLine
	if err := json.Unmarshal(data, &line); err != nil {
		return CostState{}, fmt.Errorf("usage: decoding a cost-state line: %w", err)
	}
	s := CostState{
		SessionID: line.SessionID, TotalCost: line.TotalCostUSD, Models: make(map[string]ModelState, len(line.ModelUsage)),
		HasUnknownModelCost: line.HasUnknownModelCost, Duration: entrylex.Milliseconds(line.TotalDuration),
		APIDuration: entrylex.Milliseconds(line.TotalAPIDuration), ToolDuration: entrylex.Milliseconds(line.TotalToolDuration),
		APIDurationWithoutRetries: entrylex.Milliseconds(line.TotalAPIDurationWithoutRetries),
		LinesAdded:                line.TotalLinesAdded, LinesRemoved: line.TotalLinesRemoved,
	}
	if line.StartTime > 0 && line.StartTime < entrylex.MaxMilliseconds {
		s.Start = time.UnixMilli(int64(line.StartTime)).UTC()
	}
	for name, u := range line.ModelUsage {
		s.Models[name] = ModelState{u.sum(), u.CostUSD}
	}
	return s, nil
}

func (u *modelUsage) sum() Sum {
	return Sum{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ThinkingTokens: u.ThinkingTokens,
		CacheReadTokens: u.CacheReadInputTokens, CacheCreationTokens: u.CacheCreationInputTokens,
		CacheCreation5mTokens: u.CacheCreationEphemeral5mInputTokens,
		CacheCreation1hTokens: u.CacheCreationEphemeral1hInputTokens,
		WebSearches:           u.WebSearchRequests,
	}
}
