package transcript

import "bytes"

// resultFacts are members of the structured result of a tool that matter however long the result is. They are read in
// the same pass as the entry.
type resultFacts struct {
	read                 bool
	agent, status, spill string
	patch                []byte // a list that is not empty, and shares the memory of the result
	patchAt              int    // where it is in the result
}

// readFacts reads them from a result by itself.
func readFacts(result []byte) resultFacts {
	var e Entry
	d := entryDecoder{line: result, e: &e}
	d.Reset(result)
	d.resultMember()
	return e.facts
}

// resultMember reads the structured result of a tool.
func (d *entryDecoder) resultMember() {
	e := d.e
	e.facts = resultFacts{read: true}
	if d.Peek() != '{' {
		e.ToolUseResult = d.Skip()
		return
	}
	start := d.Pos()
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "structuredPatch":
			d.patchMember(start)
		case "agentId", "agent_id":
			d.again(&e.facts.agent)
		case "status":
			d.again(&e.facts.status)
		case "persistedOutputPath":
			d.again(&e.facts.spill)
		default:
			d.Skip()
		}
	}
	e.ToolUseResult = d.since(start)
}

// again reads a string into to, and leaves that as it is for anything else.
func (d *entryDecoder) again(to *string) {
	if d.Peek() != '"' {
		d.Skip()
		return
	}
	*to = d.text()
}

// patchMember reads what changed in a file.
func (d *entryDecoder) patchMember(start int) {
	patch := d.Skip()
	if len(patch) == 0 || patch[0] != '[' || len(bytes.Trim(patch, "[] \t\r\n")) == 0 {
		return
	}
	d.e.facts.patch, d.e.facts.patchAt = patch, d.Pos()-len(patch)-start
}
