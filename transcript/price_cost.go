package transcript

// Cost returns what a call cost. An older agent wrote that down, and then it is what the agent wrote. Otherwise it is
// computed; it returns false if the price of the model is not known. A call that used nothing costs nothing.
func (p Prices) Cost(c *Call) (Money, bool) {
	var n pricer
	n.prices = p
	return n.cost(c)
}

// of returns what tokens and searches cost.
func (p *Price) of(u *Usage, usPercent int) Money {
	rates, writes := p.Rates, writesOf(u)
	prompt := u.InputTokens + u.CacheReadTokens + writes.all
	if p.LongPrompt != nil && prompt > p.LongPrompt.AboveTokens {
		rates = p.LongPrompt.Rates
	}
	cost := rates.Input.perMillion(u.InputTokens).
		plus(rates.Output.perMillion(u.OutputTokens)).
		plus(rates.CacheRead.perMillion(u.CacheReadTokens)).
		plus(rates.CacheWrite5m.perMillion(writes.all - writes.oneHour)).
		plus(rates.CacheWrite1h.perMillion(writes.oneHour))
	if u.Fast && p.FastMultiplier > 0 {
		cost = cost.times(int64(p.FastMultiplier), 1)
	}
	if u.InferenceUS && usPercent > 0 {
		cost = cost.times(int64(usPercent), 100)
	}
	return cost.plus(p.WebSearch.times(int64(u.WebSearches), 1))
}

// A pricer computes costs. It looks each model up once.
type pricer struct {
	prices Prices
	models map[string]pricedModel
}

type pricedModel struct {
	name  string
	price Price
	known bool
}

func (n *pricer) model(name string) pricedModel {
	m, ok := n.models[name]
	if ok {
		return m
	}
	m.name = n.prices.Name(name)
	m.price, m.known = n.prices.Models[m.name]
	if n.models == nil {
		n.models = make(map[string]pricedModel)
	}
	n.models[name] = m
	return m
}

func (n *pricer) cost(c *Call) (Money, bool) {
	if c.CostUSD > 0 {
		return moneyOf(c.CostUSD), true
	}
	m := n.model(c.Model)
	if !m.known {
		used := sumOf(&c.Usage)
		return 0, used.TotalTokens() == 0 && used.WebSearches == 0
	}
	return m.price.of(&c.Usage, n.prices.USPercent), true
}

// Costs are what calls cost.
type Costs struct {
	// Calls are the costs of the calls, in their order. One of unknown cost counts as 0.
	Calls []Money `json:"-"`
	// Total is the sum, and Usage what was used for it: without the calls of unknown cost.
	Total Money    `json:"total"`
	Usage UsageSum `json:"usage"`
	// Unknown are the calls of unknown cost, by model.
	Unknown []ModelCost `json:"unknown,omitempty"`
}

// Cost returns what calls cost, each and together.
func Cost(calls []Call, prices Prices) Costs {
	n := pricer{prices: prices}
	costs := Costs{Calls: make([]Money, len(calls))}
	var unknown account
	for i := range calls {
		c := &calls[i]
		cost, ok := n.cost(c)
		if !ok {
			unknown.add(n.model(c.Model).name, c, cost, ok)
			continue
		}
		costs.Calls[i] = cost
		costs.Total = costs.Total.plus(cost)
		costs.Usage = costs.Usage.plus(sumOf(&c.Usage), 1)
	}
	costs.Unknown = unknown.totals().Models
	return costs
}
