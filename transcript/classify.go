package transcript

import (
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// Classify says what an entry means. It returns false for one that means nothing to a person: what the agent keeps for
// itself, and what only the model has to know. The entries of a sidechain are left out too.
//
// The message shares no memory with the entry's raw members. Classify may be called from several goroutines.
func Classify(e Entry) (ClassifiedMsg, bool) {
	c := classifiers.Get().(*classifier) //nolint:forcetypeassert // nothing else is in there
	defer classifiers.Put(c)
	msg, _ := c.classify(&e)
	return msg, msg != nil
}

var classifiers = sync.Pool{New: func() any { return &classifier{maxResult: -1} }}

// A classifier classifies the entries of one transcript. It is for one goroutine at a time.
type classifier struct {
	maxResult int  // the longest structured result that is copied into an AIMsg; less than 0 means no limit
	sidechain bool // entries of a sidechain are taken like others: the transcript is that of a subagent
	lean      bool // results of tools are left in parts instead of blocks, for a digest
	parts     []part
	decoder   *wire.Decoder
	lexer     jsonlex.Lexer
}

// noiseEmpty is the name of entries that say nothing.
const noiseEmpty = "empty"

// classify returns what an entry means, or nil and the name under which it is counted as noise.
func (c *classifier) classify(e *Entry) (msg ClassifiedMsg, noise string) {
	if e.IsSidechain && !c.sidechain {
		return nil, "sidechain"
	}
	switch e.Type {
	case "user":
		return c.user(e)
	case "assistant":
		return c.assistant(e)
	case "system":
		return classifySystem(e)
	case "attachment":
		return c.attachment(e)
	case "":
		return nil, "untyped"
	}
	return nil, noiseName("", e.Type)
}

// noiseName returns the name of noise of a kind that the agent has named.
func noiseName(prefix, kind string) string {
	const longest = 60
	switch {
	case kind == "":
		return prefix + "untyped"
	case len(kind) > longest:
		return prefix + "other"
	case prefix == "":
		return kind
	}
	return prefix + kind
}

// blocks decodes the content of a message. A string in a list is a text block, and so is a content that is neither a
// string nor a list.
func (c *classifier) blocks(content []byte) wire.Content {
	if c.decoder == nil {
		c.decoder = wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	}
	blocks, err := c.decoder.Content(content)
	if err != nil {
		return wire.Content{&wire.TextBlock{Text: string(content)}}
	}
	for i, b := range blocks {
		if bad, ok := b.(*wire.InvalidBlock); ok {
			if text, ok := bareText(bad.Raw()); ok {
				blocks[i] = &wire.TextBlock{Text: text}
			}
		}
	}
	return blocks
}
