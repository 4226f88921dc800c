package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/wire"
)

// An agentData is an agent as pages get it. Its texts are not escaped: pages show them as text.
type agentData struct {
	Agent     string         `json:"agent"`
	Session   string         `json:"session"`
	Dir       string         `json:"dir"`
	State     drive.State    `json:"state"`
	Why       string         `json:"why"`
	Note      string         `json:"note"`
	Mode      string         `json:"mode"`
	Model     string         `json:"model"`
	Models    []string       `json:"models"`
	Cost      float64        `json:"cost"`
	Failure   string         `json:"failure"`
	Queue     []drive.Prompt `json:"queue"`
	Returned  []drive.Prompt `json:"returned"`
	Sent      []drive.Prompt `json:"sent"`
	Elsewhere bool           `json:"elsewhere"` // another process runs the session
	Questions []questionData `json:"questions"` // null in events

	// Preview is the current effect of a rewind, if the request asked for a different one.
	Preview *drive.Rewound `json:"preview,omitempty"`
}

// newAgentData returns an agent without its questions, which are separate events.
func newAgentData(s *drive.Status) agentData {
	return agentData{
		Agent: s.Agent, Session: s.Session, Dir: tty.CleanLine(s.Dir), State: s.State, Why: tty.Clean(s.Why), Note: tty.Clean(s.Note),
		Elsewhere: s.Elsewhere, Mode: tty.Line(string(s.Mode)), Model: tty.Line(s.Model), Models: s.Models, Cost: s.Cost, Failure: tty.Clean(s.Failure),
		Queue: inShort(s.Queue), Returned: inShort(s.Returned), Sent: inShort(s.Sent),
	}
}

// inShort returns prompts with the start of their texts. A page that takes one back gets all of it.
func inShort(prompts []drive.Prompt) []drive.Prompt {
	short := make([]drive.Prompt, len(prompts)) // not null in JSON
	for i, p := range prompts {
		const most = 300
		p.Text = clip.Marked(p.Text, most)
		short[i] = p
	}
	return short
}

// withQuestions returns an agent with its open questions.
func withQuestions(s *drive.Status) agentData {
	data := newAgentData(s)
	data.Questions = []questionData{}
	for _, q := range s.Questions {
		data.Questions = append(data.Questions, newQuestionData(s, q))
	}
	return data
}

// A driveData holds the choices for starting an agent.
type driveData struct {
	Projects []drive.Project       `json:"projects"`
	Modes    []wire.PermissionMode `json:"modes"`
	Models   []string              `json:"models"`
}

// drivable returns what pages need to start an agent. Without --drive it is empty.
func (s *Server) drivable(ctx context.Context) driveData {
	if s.opts.Drive == nil {
		return driveData{}
	}
	projects, _ := s.opts.Drive.Projects(ctx) // the reason comes when one is started
	return driveData{projects, s.opts.Drive.Modes(), s.opts.Drive.Models()}
}

// drivenBy returns the ID of the agent that this server drives in a session, or "".
func (s *Server) drivenBy(session string) string {
	if s.opts.Drive == nil {
		return ""
	}
	return s.opts.Drive.Driving(session)
}

// statuses maps error kinds to HTTP status codes.
var statuses = map[drive.Kind]int{
	drive.Invalid: http.StatusBadRequest, drive.NotFound: http.StatusNotFound, drive.Forbidden: http.StatusForbidden,
	drive.Conflict: http.StatusConflict, drive.TooMany: http.StatusTooManyRequests, drive.Gone: http.StatusGone,
	drive.Failed: http.StatusBadGateway, drive.Fulfilled: http.StatusUnprocessableEntity,
}

// driveError returns an error as a refusal. A conflict comes with the state of the agent as it is now.
func (s *Server) driveError(err error, agent string) error {
	e, ok := errors.AsType[*drive.Error](err)
	if !ok {
		return err
	}
	no := &refusal{status: statuses[e.Kind], reason: tty.Clean(e.Reason), hint: e.Hint}
	if e.Agent != "" {
		agent = e.Agent
	}
	if g, err := s.opts.Drive.Agent(agent); err == nil {
		now := g.Status()
		data := withQuestions(&now)
		data.Preview = e.Preview
		no.state = data
	}
	return no
}

// drivenAgents lists the agents that this server drives, with their questions.
func (s *Server) drivenAgents(w http.ResponseWriter, _ *http.Request) error {
	list := []agentData{}
	for _, status := range s.opts.Drive.List() {
		list = append(list, withQuestions(&status))
	}
	return reply(w, struct {
		Agents []agentData `json:"agents"`
	}{list})
}

func (s *Server) startAgent(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		ID, Project, Session, Model, Mode, Prompt string

		// Start identifies the server run for which the ID was made, or is "".
		Start  string
		Fork   bool
		Images [][]byte
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if earlier, ok := s.opts.Drive.Restored(body.ID); ok {
		return reply(w, withQuestions(&earlier))
	}
	if body.Start != "" && body.Start != s.feed.start {
		return &refusal{
			status: http.StatusPreconditionFailed, reason: "the server was started again: the prompt may have been sent before",
			hint: "Look at the session before you send it again.",
		}
	}
	start := func(ctx context.Context) (drive.Status, error) {
		return s.opts.Drive.Start(ctx, drive.StartRequest{
			ID: body.ID, Project: body.Project, Session: body.Session, Fork: body.Fork, Model: body.Model,
			Mode: wire.PermissionMode(body.Mode), Prompt: body.Prompt, Images: body.Images,
		})
	}
	status, err := audited(s, r, "start", body.Session+body.Project, start, func(result any) []string {
		status, _ := result.(drive.Status) // as Start returns it
		return []string{status.Agent, status.Session, status.Dir, string(status.Mode)}
	})
	if err != nil {
		return s.driveError(err, "")
	}
	return reply(w, withQuestions(&status))
}

// driveOne fulfills a request to one agent: it reads the body, calls the agent, writes an audit line
// and answers.
func driveOne[B, R any](s *Server, w http.ResponseWriter, r *http.Request, action string, call func(ctx context.Context, g *drive.Agent, body B) (R, error)) error {
	var body B
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	id := r.PathValue("agent")
	g, err := s.opts.Drive.Agent(id)
	if err != nil {
		return s.driveError(err, "")
	}
	one := func(ctx context.Context) (R, error) { return call(ctx, g, body) }
	result, err := audited(s, r, action, id, one, func(any) []string { return []string{id} })
	if err != nil {
		return s.driveError(err, id)
	}
	return reply(w, result)
}

func (s *Server) sendPrompt(w http.ResponseWriter, r *http.Request) error {
	type body struct {
		ID, Text string
		Images   [][]byte
	}
	return driveOne(s, w, r, "prompt", func(ctx context.Context, g *drive.Agent, b body) (drive.Prompt, error) {
		return g.Prompt(ctx, drive.PromptRequest{ID: b.ID, Text: b.Text, Images: b.Images})
	})
}

func (s *Server) withdrawPrompt(w http.ResponseWriter, r *http.Request) error {
	return driveOne(s, w, r, "withdraw", func(ctx context.Context, g *drive.Agent, b struct{ ID string }) (drive.Prompt, error) {
		return g.Withdraw(ctx, drive.WithdrawRequest{ID: b.ID, Prompt: r.PathValue("prompt")})
	})
}

func (s *Server) interruptAgent(w http.ResponseWriter, r *http.Request) error {
	type body struct {
		ID    string
		Clear bool
	}
	return driveOne(s, w, r, "interrupt", func(ctx context.Context, g *drive.Agent, b body) (agentData, error) {
		return asData(g.Interrupt(ctx, drive.InterruptRequest{ID: b.ID, Clear: b.Clear}))
	})
}

func asData(status drive.Status, err error) (agentData, error) { return withQuestions(&status), err }

func (s *Server) setMode(w http.ResponseWriter, r *http.Request) error {
	return driveOne(s, w, r, "mode", func(ctx context.Context, g *drive.Agent, b struct{ ID, Mode string }) (agentData, error) {
		return asData(g.SetMode(ctx, drive.ModeRequest{ID: b.ID, Mode: wire.PermissionMode(b.Mode)}))
	})
}

func (s *Server) setModel(w http.ResponseWriter, r *http.Request) error {
	return driveOne(s, w, r, "model", func(ctx context.Context, g *drive.Agent, b struct{ ID, Model string }) (agentData, error) {
		return asData(g.SetModel(ctx, drive.ModelRequest{ID: b.ID, Model: b.Model}))
	})
}

func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	type body struct {
		ID, Question, Digest string

		// Client is a name that the page has chosen for itself.
		Client string
		Answer ask.Answer
	}
	return driveOne(s, w, r, "answer", func(ctx context.Context, g *drive.Agent, b body) (answeredData, error) {
		by := "another page"
		if b.Client != "" {
			by = "page " + clip.Marked(tty.Line(b.Client), maxQuoted)
		}
		ctx = drive.WithOutcome(ctx, func(result any, err error) {
			if answered, ok := result.(drive.Answered); ok && err == nil {
				s.auditLine(r.RemoteAddr, "answered", by, b.Question, b.Digest, answered.What, b.Answer.Rule, answered.About)
			}
		})
		answered, err := g.Answer(ctx, drive.AnswerRequest{
			ID: b.ID, Question: b.Question, Digest: b.Digest, By: by, Answer: b.Answer,
		})
		return answeredData{r.PathValue("agent"), g.Status().Session, b.Question, answered.By, answered.What}, err
	})
}

func (s *Server) rewindAgent(w http.ResponseWriter, r *http.Request) error {
	type body struct {
		ID, To, Digest string
		Preview        bool
	}
	return driveOne(s, w, r, "rewind", func(ctx context.Context, g *drive.Agent, b body) (drive.Rewound, error) {
		return g.Rewind(ctx, drive.RewindRequest{ID: b.ID, To: b.To, Preview: b.Preview, Digest: b.Digest})
	})
}

func (s *Server) endAgent(w http.ResponseWriter, r *http.Request) error {
	return driveOne(s, w, r, "end", func(ctx context.Context, g *drive.Agent, b struct{ ID string }) (agentData, error) {
		return asData(g.End(ctx, drive.EndRequest{ID: b.ID}))
	})
}
