package transcript

import "maps"

// Rates are prices of a million tokens.
type Rates struct {
	Input        Money `json:"input"`
	Output       Money `json:"output"`
	CacheRead    Money `json:"cacheRead"`
	CacheWrite5m Money `json:"cacheWrite5m"`
	CacheWrite1h Money `json:"cacheWrite1h"`
}

// A Price is what a model costs.
type Price struct {
	Rates
	// WebSearch is the price of one search.
	WebSearch Money `json:"webSearch"`
	// FastMultiplier is how many times as much tokens cost in fast mode; 0 means 1.
	FastMultiplier int `json:"fastMultiplier,omitempty"`
	// LongPrompt has other rates for calls with long prompts; nil means none.
	LongPrompt *LongPrompt `json:"longPrompt,omitempty"`
}

// A LongPrompt has the rates of a call, all of it, whose prompt has more than so many tokens, cached or not.
type LongPrompt struct {
	AboveTokens int `json:"aboveTokens"`
	Rates
}

// Prices are a table of prices. The zero value knows no model.
type Prices struct {
	// Date is the day on which the table was right, such as 2026-11-15.
	Date string `json:"date,omitempty"`
	// Models are the prices by name. A dated name, or one in a provider's spelling, is for that name alone.
	Models map[string]Price `json:"models"`
	// USPercent is what tokens cost if the answer was computed in the US only, in percent; 0 means 100.
	USPercent int `json:"usPercent,omitempty"`
}

// With returns a table that has the overrides in place of, or besides, its own prices. Both stay as they are.
func (p Prices) With(overrides map[string]Price) Prices {
	models := maps.Clone(p.Models)
	if models == nil {
		models = make(map[string]Price, len(overrides))
	}
	maps.Copy(models, overrides)
	p.Models = models
	return p
}

// Lookup returns the price of a model. It knows a model also by a dated name such as claude-sonnet-4-5-20250929, by the
// names that cloud providers give it, and with the mark [1m] behind. It returns false for any other name: no price is
// guessed, not even for a name that begins like a known one.
func (p Prices) Lookup(model string) (Price, bool) {
	price, ok := p.Models[p.Name(model)]
	return price, ok
}

// Name returns the name under which the table has a model, or, if it does not, model itself without the mark [1m].
func (p Prices) Name(model string) string {
	if _, ok := p.Models[model]; ok {
		return model
	}
	plain := plainName(model)
	for _, name := range []string{plain, plain + "-0"} { // claude-opus-4 is claude-opus-4-0
		if _, ok := p.Models[name]; ok {
			return name
		}
	}
	return withoutMark(model)
}
