package transcript

import (
	"cmp"
	"slices"
)

// Totals are sums over calls.
type Totals struct {
	Calls int      `json:"calls"`
	Usage UsageSum `json:"usage"`
	Cost  Money    `json:"cost"`
	// UnknownCost says that Cost is not all: the price of a model is not known.
	UnknownCost bool `json:"unknownCost,omitempty"`
	// Models are the same sums by model, sorted by name.
	Models []ModelCost `json:"models,omitempty"`
}

// A ModelCost is what was used of one model.
type ModelCost struct {
	// Model is the name as the table of prices has it, or else as the transcript has it.
	Model string   `json:"model"`
	Calls int      `json:"calls"`
	Usage UsageSum `json:"usage"`
	Cost  Money    `json:"cost"`
	// UnknownCost says that the price of the model is not known: calls whose cost the agent did not write down are not
	// in Cost.
	UnknownCost bool `json:"unknownCost,omitempty"`
}

// An account adds calls up.
type account struct{ models map[string]*ModelCost }

func (a *account) add(model string, c *Call, cost Money, known bool) {
	m := a.models[model]
	if m == nil {
		m = &ModelCost{Model: model}
		if a.models == nil {
			a.models = make(map[string]*ModelCost)
		}
		a.models[model] = m
	}
	m.Calls++
	m.Usage = m.Usage.plus(sumOf(&c.Usage), 1)
	m.Cost = m.Cost.plus(cost)
	m.UnknownCost = m.UnknownCost || !known
}

func (a *account) totals() Totals {
	var t Totals
	for _, m := range a.models {
		t.Models = append(t.Models, *m)
		t.Calls += m.Calls
		t.Usage = t.Usage.plus(m.Usage, 1)
		t.Cost = t.Cost.plus(m.Cost)
		t.UnknownCost = t.UnknownCost || m.UnknownCost
	}
	slices.SortFunc(t.Models, func(a, b ModelCost) int { return cmp.Compare(a.Model, b.Model) })
	return t
}
