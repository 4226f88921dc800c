package transcript

import (
	"errors"
	"fmt"
)

// ErrNotKept says that the structured result of a call is not in memory: it was too long, or the agent wrote none.
var ErrNotKept = errors.New("transcript: the structured result was not kept")

// ErrNoResult says that a call has no result yet.
var ErrNoResult = errors.New("transcript: no result")

var errNoCall = errors.New("transcript: the item is no call of a tool")

// Input returns what the tool was called with. It returns an error for an item that is no call, and for an input that
// is not JSON.
func (i *DisplayItem) Input() (Input, error) {
	if !i.isCall() {
		return nil, errNoCall
	}
	return DecodeInput(i.ToolName, i.ToolInput)
}

// Result returns the structured result of the call. It returns an error that wraps [ErrNoResult] if there is no result
// yet, and [ErrNotKept] if it is not in memory: then it is in the entry at ResultAt, if anywhere.
func (i *DisplayItem) Result() (Result, error) {
	switch {
	case !i.isCall():
		return nil, errNoCall
	case !i.HasResult:
		return nil, fmt.Errorf("%w of %s %s", ErrNoResult, i.ToolName, i.ToolID)
	case i.Structured == "":
		return nil, fmt.Errorf("%w: see line %d, at byte %d", ErrNotKept, i.ResultAt.Line, i.ResultAt.Offset)
	}
	return DecodeResult(i.ToolName, i.Structured)
}

func (i *DisplayItem) isCall() bool { return i.Type == ItemToolCall || i.Type == ItemSubagent }
