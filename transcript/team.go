package transcript

import (
	"slices"
	"strings"
)

// A Team is a group of agents that one session leads, and the board of their tasks.
type Team struct {
	Name        string
	Description string
	Members     []Member
	Tasks       []Task
	// Closed says that the team was ended. What came later is not on its board.
	Closed bool
}

// A Member is a teammate that the leader has started.
type Member struct {
	Name  string
	Type  string
	Color string
	// Agent is the last one of that name, or nil if nothing of it was found.
	Agent *Agent
	// Ongoing says that the agent seems to be at work.
	Ongoing bool
}

// A Task is one task of a team.
type Task struct {
	// ID is a number, counted from 1 in each team.
	ID          string
	Subject     string
	Description string
	// Status is pending, in_progress, completed or deleted.
	Status string
	// Owner is the member that works on it, or "".
	Owner string
}

// Teams returns the teams that a session has led, in their order. The agents are those of the session, which were
// linked before: see [Link].
func Teams(t *Transcript, agents []*Agent) []*Team {
	var b board
	for _, event := range boardEvents(t, agents) {
		b.apply(event)
	}
	for _, team := range b.teams {
		team.meet(agents)
	}
	return b.teams
}

// meet finds the agents of the members.
func (team *Team) meet(agents []*Agent) {
	sorted := slices.DeleteFunc(slices.Clone(agents), func(a *Agent) bool { return a == nil })
	slices.SortStableFunc(sorted, compareStarts)
	for i := range team.Members {
		m := &team.Members[i]
		for _, a := range sorted {
			if a.Teammate() == m.Name+"@"+team.Name {
				m.Agent = a
			}
		}
		if m.Agent == nil {
			continue
		}
		m.Ongoing = m.Agent.Ongoing()
		if color := m.Agent.Color(); color != "" {
			m.Color = color
		}
		if m.Type == "" {
			m.Type = m.Agent.Type()
		}
	}
}

// TeamAgent returns name@team if the transcript is that of a teammate, which is a session of its own beside that of the
// leader. t may be nil.
func TeamAgent(t *Transcript) (id string, ok bool) {
	if t == nil || t.TeamName == "" || t.AgentName == "" {
		return "", false
	}
	return t.AgentName + "@" + t.TeamName, true
}

// Teammates returns name@team of all teammates that the session has called for, each once. Their sessions may lie
// beside its own: see [TeamAgent].
func Teammates(t *Transcript) []string {
	var ids []string
	seen := map[string]bool{"": true}
	for item := range t.items() {
		if item.Type != ItemSubagent && item.AgentID == "" {
			continue
		}
		if id := newCall(item, nil).teammate(); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// splitTeammate returns the two parts of name@team.
func splitTeammate(id string) (name, team string) {
	name, team, _ = strings.Cut(id, "@")
	return name, team
}
