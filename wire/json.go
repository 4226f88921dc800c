package wire

import "encoding/json"

// JSON is a JSON text that is left as it is until somebody asks for what it
// says. The empty JSON is no value at all, and is written as null.
//
// It converts to and from []byte and [json.RawMessage].
type JSON string

// Decode decodes the text into v, as encoding/json does.
func (j JSON) Decode(v any) error { return json.Unmarshal([]byte(j), v) }

// MarshalJSON returns the text.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = JSON(data)
	return nil
}
