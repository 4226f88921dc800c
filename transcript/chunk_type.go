package transcript

import (
	"fmt"
	"slices"
)

var (
	chunkTypes = []string{"user", "ai", "system", "compact"}
	itemTypes  = []string{"thinking", "output", "tool", "subagent", "teammate"}
)

// String returns user, ai, system or compact.
func (t ChunkType) String() string { return wordOf(int(t), chunkTypes, "ChunkType") }

// MarshalText returns the word of the type. It fails for a type that there is not.
func (t ChunkType) MarshalText() ([]byte, error) { return marshalWord(int(t), chunkTypes, "chunk") }

// UnmarshalText takes the word of a type.
func (t *ChunkType) UnmarshalText(text []byte) error {
	n, err := parseWord(string(text), chunkTypes, "chunk")
	if err == nil {
		*t = ChunkType(n)
	}
	return err
}

// String returns thinking, output, tool, subagent or teammate.
func (t DisplayItemType) String() string { return wordOf(int(t), itemTypes, "DisplayItemType") }

// MarshalText returns the word of the type. It fails for a type that there is not.
func (t DisplayItemType) MarshalText() ([]byte, error) { return marshalWord(int(t), itemTypes, "item") }

// UnmarshalText takes the word of a type.
func (t *DisplayItemType) UnmarshalText(text []byte) error {
	n, err := parseWord(string(text), itemTypes, "item")
	if err == nil {
		*t = DisplayItemType(n)
	}
	return err
}

func wordOf(n int, words []string, name string) string {
	if n < 0 || n >= len(words) {
		return fmt.Sprintf("%s(%d)", name, n)
	}
	return words[n]
}

func marshalWord(n int, words []string, what string) ([]byte, error) {
	if n < 0 || n >= len(words) {
		return nil, fmt.Errorf("transcript: there is no type %d of %s", n, what)
	}
	return []byte(words[n]), nil
}

func parseWord(text string, words []string, what string) (int, error) {
	n := slices.Index(words, text)
	if n < 0 {
		return 0, fmt.Errorf("transcript: unknown type of %s %q", what, text)
	}
	return n, nil
}
