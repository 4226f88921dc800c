package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Team is a group of agents that one session leads, and the board of their tasks. [Teams] finds
// them in the session's calls.
type Team struct {
	// Name is the name of the team, such as "red". It is the part after the @ in the ID of a
	// teammate.
	Name string
	// Description is the purpose of the team, in the words of the leader. It is "" if the leader
	// has not described it, or has not created the team by a call.
	Description string
	// Members are the teammates in the order in which they were started, each name once.
	Members []Member
	// Tasks are the tasks on the board in the order in which they were created, including deleted
	// ones.
	Tasks []Task
	// Closed reports whether the team was ended. Later tasks are not on its board.
	Closed bool
}

// A Member is a teammate that the leader started.
type Member struct {
	// Name is the name of the teammate, such as "scout". It is the part before the @ in its ID.
	Name string
	// Type is the type of the agent, such as "Explore", or "" if it is not known.
	Type string
	// Color is the color in which the agent shows the teammate, such as "green", or "" if it is not
	// known.
	Color string
	// Agent is the last agent of that name, or nil if none was found among those passed to [Teams].
	Agent *Agent
	// Ongoing reports whether the agent seems to be working, see [Agent.Ongoing].
	Ongoing bool
}

// A Task is one task of a team.
type Task struct {
	// ID is a number in decimal, such as "1", counted from 1 in each team unless the agent reports
	// another ID.
	ID string
	// Subject is the title of the task.
	Subject string
	// Description is the text of the task, or "" if it has none.
	Description string
	// Status is pending, in_progress, completed or deleted.
	Status string
	// Owner is the name of the member that works on it, or "".
	Owner string
}

// Teams returns the teams that a session led, in their order. The agents must be the session's
// agents, already linked: see [Link]. It returns nil for a session that led none. Link first, since
// the type and the color of a member may only be known from its agent.
//
//	for _, team := range transcript.Teams(t, agents) {
//		for _, task := range team.Tasks {
//			fmt.Println(team.Name, task.ID, task.Status, task.Subject, task.Owner)
//		}
//	}
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

// TeamAgent returns name@team if the transcript belongs to a teammate, which has a separate session
// beside the leader's. t may be nil. It returns false for the transcript of the leader, and of any
// other agent.
func TeamAgent(t *Transcript) (id string, ok bool) {
	if t == nil || t.TeamName == "" || t.AgentName == "" {
		return "", false
	}
	return t.AgentName + "@" + t.TeamName, true
}

// Teammates returns name@team of all teammates that the session called for, each once. Their
// sessions may lie beside its own: see [TeamAgent].
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

// A boardEvent is a call that changes the board of a team.
type boardEvent struct {
	at   time.Time
	item *DisplayItem
	// worker and team name the teammate that made the call, and are "" for the leader.
	worker, team string
}

// boardEvents returns the calls that matter in the order of their time.
func boardEvents(t *Transcript, agents []*Agent) []boardEvent {
	events := appendBoardEvents(nil, t, "")
	for _, a := range agents {
		if a != nil && a.Transcript != nil && a.Teammate() != "" {
			events = appendBoardEvents(events, a.Transcript, a.Teammate())
		}
	}
	slices.SortStableFunc(events, func(a, b boardEvent) int { return a.at.Compare(b.at) })
	return events
}

// appendBoardEvents adds the calls in a transcript that may change a board. A call that failed
// changes nothing. teammate is "" for the leader.
func appendBoardEvents(events []boardEvent, t *Transcript, teammate string) []boardEvent {
	name, team := splitTeammate(teammate)
	for i := range t.Chunks {
		for j := range t.Chunks[i].Items {
			item := &t.Chunks[i].Items[j]
			if !item.ToolError && changesBoard(item, teammate == "") {
				events = append(events, boardEvent{item.Timestamp, item, name, team})
			}
		}
	}
	return events
}

// changesBoard reports whether a call may change a board. Only the leader makes and ends teams.
func changesBoard(item *DisplayItem, leader bool) bool {
	switch item.ToolName {
	case "TaskCreate", "TaskUpdate":
		return true
	case "TeamCreate", "TeamDelete":
		return leader
	}
	return leader && item.Type == ItemSubagent
}

// A boardInput is the input of the tools that change boards.
type boardInput struct {
	TeamName    string      `json:"team_name"`
	Description string      `json:"description"`
	Subject     string      `json:"subject"`
	Status      string      `json:"status"`
	Owner       string      `json:"owner"`
	TaskID      looseString `json:"taskId"`
}

// A boardResult is the result of these calls.
type boardResult struct {
	TeamName string `json:"team_name"`
	Task     struct {
		ID looseString `json:"id"`
	} `json:"task"`
}

// A looseString is a string, or a number that is taken for one.
type looseString string

// UnmarshalJSON never fails for JSON.
func (s *looseString) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(s))
	}
	*s = looseString(strings.TrimPrefix(string(data), "null"))
	return nil
}

// A board follows the teams of a session.
type board struct {
	teams []*Team
	// current is the team that the leader works with, or nil.
	current *Team
}

// apply makes the change that a call made. Members of the input that it cannot decode count as
// absent.
func (b *board) apply(e boardEvent) {
	var input boardInput
	var result boardResult
	_ = e.item.ToolInput.Decode(&input)
	_ = e.item.Structured.Decode(&result)
	switch e.item.ToolName {
	case "TeamCreate":
		if result.TeamName != "" {
			input.TeamName = result.TeamName
		}
		b.begin(&Team{Name: input.TeamName, Description: input.Description})
	case "TeamDelete":
		if b.current != nil {
			b.current.Closed, b.current = true, nil
		}
	case "TaskCreate":
		b.teamOf(e).addTask(input, string(result.Task.ID))
	case "TaskUpdate":
		b.teamOf(e).updateTask(input, e.worker)
	default:
		b.addMember(newCall(e.item, nil))
	}
}

// begin adds a team and makes it the current one of the leader.
func (b *board) begin(team *Team) {
	b.teams = append(b.teams, team)
	b.current = team
}

// teamOf returns the team whose board a call changes, or nil.
func (b *board) teamOf(e boardEvent) *Team {
	if e.worker == "" {
		return b.current
	}
	if team := b.find(e.team); team != nil && !team.Closed {
		return team
	}
	return nil
}

// find returns the last team of that name, or nil.
func (b *board) find(name string) *Team {
	for _, team := range slices.Backward(b.teams) {
		if team.Name == name {
			return team
		}
	}
	return nil
}

// addMember adds the teammate that a call asks for, once. A team that nobody made is there all the
// same once a call's result names it: newer versions make none.
func (b *board) addMember(c *call) {
	name, teamName := splitTeammate(c.teammate())
	team := b.find(teamName)
	if team == nil && c.item.AgentID != "" && teamName != "" {
		team = &Team{Name: teamName}
		b.begin(team)
	}
	if team == nil || team.Closed || slices.ContainsFunc(team.Members, func(m Member) bool { return m.Name == name }) {
		return
	}
	team.Members = append(team.Members, Member{
		Name: name, Type: cmp.Or(c.item.SubagentType, c.SubagentType), Color: c.Color,
	})
}

// addTask adds a task under the ID in the result, or else the next one. A nil team has no tasks:
// then the task is in the session's own list.
func (team *Team) addTask(input boardInput, id string) {
	if team == nil {
		return
	}
	if id == "" {
		id = strconv.Itoa(len(team.Tasks) + 1)
	}
	team.Tasks = append(team.Tasks, Task{
		ID: id, Subject: input.Subject, Description: input.Description, Status: "pending",
	})
}

// updateTask makes the changes in the input. A worker that changes a task without an owner becomes
// its owner.
func (team *Team) updateTask(input boardInput, worker string) {
	if team == nil {
		return
	}
	i := slices.IndexFunc(team.Tasks, func(t Task) bool { return t.ID == string(input.TaskID) })
	if i < 0 {
		return
	}
	task := &team.Tasks[i]
	setIfTold(&task.Status, input.Status)
	setIfTold(&task.Subject, input.Subject)
	setIfTold(&task.Description, input.Description)
	setIfTold(&task.Owner, input.Owner)
	if task.Owner == "" {
		task.Owner = worker
	}
}

// setIfTold changes a field, unless the call does not mention it.
func setIfTold(to *string, value string) {
	if value != "" {
		*to = value
	}
}
