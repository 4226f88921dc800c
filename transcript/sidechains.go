package transcript

// sidechains are the subagents whose conversations stand in the file of the session. The zero value is ready.
type sidechains struct {
	all    []*assembly
	places map[identity]int // which of them has the entry, or is the agent
}

// of returns the sidechain that an entry belongs to: a new one if nothing tells.
func (s *sidechains) of(e *Entry, c classifier, caller string) *assembly {
	if s.places == nil {
		s.places = map[identity]int{}
	}
	number, ok := s.places[identify(e.UUID)] // it comes twice
	if !ok {
		number, ok = s.places[identify(e.ParentUUID)]
	}
	if !ok && e.AgentID != "" {
		number, ok = s.places[identify(e.AgentID)]
	}
	if !ok {
		number = len(s.all)
		s.all = append(s.all, newAssembly(c))
		s.all[number].t.ToolUseID = caller
	}
	s.places[identify(e.UUID)] = number
	if e.AgentID != "" {
		s.places[identify(e.AgentID)] = number
	}
	return s.all[number]
}
