package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParsePrices reads a table in the form that [Prices] has as JSON, for [Prices.With]:
//
//	{"models": {"my-model": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite5m": 6.25, "cacheWrite1h": 10,
//	                         "webSearch": 0.01}}}
//
// Each price has these six members, in dollars; a member that is missing, negative or not known is an error, and so is
// anything else that would make a price wrong without a word.
func ParsePrices(data []byte) (Prices, error) {
	var p Prices
	if err := decodeStrictly(data, &p); err != nil {
		return Prices{}, fmt.Errorf("transcript: prices: %w", err)
	}
	if p.USPercent < 0 {
		return Prices{}, errors.New("transcript: prices: usPercent is negative")
	}
	return p, nil
}

// UnmarshalJSON reads a price. See [ParsePrices] for what it must have.
func (p *Price) UnmarshalJSON(data []byte) error {
	type plain Price // without this method
	var v plain
	if err := decodeStrictly(data, &v); err != nil {
		return err
	}
	if v.FastMultiplier < 0 {
		return errors.New("fastMultiplier is negative")
	}
	*p = Price(v)
	return wantAmounts(data, "input", "output", "cacheRead", "cacheWrite5m", "cacheWrite1h", "webSearch")
}

// UnmarshalJSON reads the rates and the number of tokens from which they hold, all of which must be there.
func (l *LongPrompt) UnmarshalJSON(data []byte) error {
	type plain LongPrompt
	var v plain
	if err := decodeStrictly(data, &v); err != nil {
		return fmt.Errorf("longPrompt: %w", err)
	}
	if v.AboveTokens <= 0 {
		return errors.New("longPrompt: aboveTokens is missing or not positive")
	}
	*l = LongPrompt(v)
	return wantAmounts(data, "input", "output", "cacheRead", "cacheWrite5m", "cacheWrite1h")
}

// wantAmounts checks that an object has these members, and that none is negative.
func wantAmounts(data []byte, names ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for _, name := range names {
		var amount *Money
		if raw, ok := members[name]; !ok || json.Unmarshal(raw, &amount) != nil || amount == nil || *amount < 0 {
			return fmt.Errorf("%s is missing or negative", name)
		}
	}
	return nil
}

// decodeStrictly decodes one value that has no member that v does not know.
func decodeStrictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}
