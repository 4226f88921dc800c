// Package ask describes an agent's question about the use of a tool, and decides the meaning of its
// answer. Terminals, pages and jobs only draw the question and pass the answer on.
//
// A question shows everything that would be allowed: every member of the input by its exact name,
// or a diff in place of the old and the new text. The file is read for the diff, which is used only
// if it shows everything. "Always" makes only changes that were listed, and a rule can only become
// narrower.
package ask

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Question is a question of an agent: whether it may use a tool, or its own questions with options.
// It is not changed once it is made. Its texts come from the agent and are untrusted, except for the
// texts of Always.
type Question struct {
	// ID identifies the question. Whoever asks it sets it.
	ID string
	// Digest is the digest of everything that is shown.
	Digest string
	// Tool is the tool that the agent wants to use, and Reason why it asks, or "".
	Tool, Reason string
	// Subagent is the ID of the subagent that asks, or "".
	Subagent string
	// Subject is the main part of the call, such as a command, or "".
	Subject string
	// Path is the file that the call is about, or "".
	Path string
	// Members are all members of the input. Input is the input if it is not an object, or "".
	Members []Member
	Input   string
	// Diff is the change of the file, or nil, and Remark the reason why it does not show more, or
	// "".
	Diff   *transcript.FileDiff
	Remark string
	// Always are the changes that the answer "always" can make. Without any, it is not a valid answer.
	Always []Change
	// Rule is the rule of the first change, if the user may narrow it, or "".
	Rule string
	// Choices are the agent's own questions, each with another text. If there are any, the question is not about
	// a tool.
	Choices []clew.Question
	// TooLong means that not everything can be shown here. The question can only be denied then.
	TooLong bool

	req *permission.Request
	dir string // of the agent
}

// A Workspace is the directory of an agent, with the limits for its questions.
type Workspace struct {
	// Dir is an absolute path, or "".
	Dir string
	// Read returns the content of a file, for the changes that questions show. Nil means that files
	// are not read.
	Read func(path string) (string, error)
	// MaxInput is the size in bytes from which on an input is too long to be shown. 0 means no limit.
	MaxInput int
	// Modes reports whether "always" may set a permission mode. Nil allows all.
	Modes func(wire.PermissionMode) bool
}

// MaxShown is the limit for the input of a question that pages show.
const MaxShown = 512 << 10

// NewWorkspace returns the working directory of an agent, without limits.
func NewWorkspace(dir string) Workspace {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Workspace{}
	}
	return Workspace{Dir: dir, Read: ReadText}
}

// New returns the question of a request. If own is not empty, the request is about these questions of
// the agent. New reads the file that the call would change.
func New(req *permission.Request, own []clew.Question, w Workspace) *Question {
	q := &Question{
		Tool: req.ToolName, Reason: req.DecisionReason, Subagent: req.AgentID, Choices: distinct(own),
		TooLong: w.MaxInput > 0 && len(req.Input) > w.MaxInput, req: req, dir: w.Dir,
	}
	if !q.TooLong && len(own) == 0 {
		q.describe(w)
	}
	text, err := json.Marshal(q)
	if err != nil { // it has nothing that can't be encoded
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	q.Digest = hex.EncodeToString(sum[:])
	return q
}

// distinct leaves out questions with the text of an earlier one. An answer names its question by the text, so such
// a question can't have one.
func distinct(own []clew.Question) []clew.Question {
	var kept []clew.Question
	for i := range own {
		if !slices.ContainsFunc(kept, func(q clew.Question) bool { return q.Question == own[i].Question }) {
			kept = append(kept, own[i])
		}
	}
	return kept
}

// describe adds the effects of a call, and the changes of "always".
func (q *Question) describe(w Workspace) {
	members, err := Members(q.req.Input)
	if err != nil {
		q.Input = string(q.req.Input)
	}
	q.Members, q.Subject = MainFirst(members)
	if change, ok := notebookChange(q.Tool, members); ok {
		q.Subject = change
	}
	if path, ok := pathOf(q.Tool, members); ok {
		q.Path = path
	}
	e := effectOf(q.req, members, w)
	q.Diff, q.Remark = e.diff, e.remark
	for i := range q.Members {
		q.Members[i].Replaced = slices.Contains(e.replaced, q.Members[i].Name)
	}
	q.Always = changesOf(q.req, w)
	if len(q.Always) > 0 && q.Always[0].Index == 0 {
		if rule, ok := onlyRule(&q.req.Suggestions[0]); ok {
			q.Rule = rulesText([]permission.Rule{rule})
		}
	}
}

// A Change is a change of the permissions that the answer "always" can make.
type Change struct {
	// Index is the index of the change among the suggestions of the agent.
	Index int
	// Text is a clean line that describes the change, and the place where it is saved.
	Text string
	// Marked reports whether the change is made unless the user deselects it: rules allow the
	// least.
	Marked bool
}

// Marked returns the marked changes of Always: all that "always" makes where the user can't select them. If there
// are changes, some are marked.
func (q *Question) Marked() []Change {
	var marked []Change
	for _, c := range q.Always {
		if c.Marked {
			marked = append(marked, c)
		}
	}
	return marked
}

// changesOf returns the changes that "always" can make. Nil means that it is not a valid answer.
func changesOf(req *permission.Request, w Workspace) []Change {
	if req.SuppressAlwaysAllowRule {
		return nil
	}
	adds := func(u permission.Update) bool { return u.Type == permission.UpdateAddRules }
	some := slices.ContainsFunc(req.Suggestions, adds)
	var changes []Change
	for i := range req.Suggestions {
		u := &req.Suggestions[i]
		if u.Type == permission.UpdateSetMode && w.Modes != nil && !w.Modes(u.Mode) {
			continue
		}
		changes = append(changes, Change{i, tty.CleanLine(UpdateText(u)), adds(*u) || !some})
	}
	return changes
}

// OfJob returns the question of a job's agent, for a place where inputs up to maxInput bytes are
// shown; 0 means no limit. It reads no file: the file that the call would change is on another machine.
func OfJob(j *fleet.Question, maxInput int) *Question {
	req := &permission.Request{ToolName: j.Tool, Input: wire.JSON(j.Input), DecisionReason: j.Reason, AgentID: j.Subagent}
	q := New(req, ownQuestions(j), Workspace{MaxInput: maxInput})
	q.ID = j.ID
	return q
}

// ownQuestions returns the own questions of a job's agent, or nil if it asks for the permission to
// use a tool.
func ownQuestions(j *fleet.Question) []clew.Question {
	var req clew.QuestionRequest
	if j.Tool != choiceTool || json.Unmarshal(j.Input, &req) != nil {
		return nil
	}
	return req.Questions
}

// JobTitle returns the subject of a job's question: "Bash: make test", or the first of the agent's
// own questions. It is not clean.
func JobTitle(j *fleet.Question) string {
	if own := ownQuestions(j); len(own) > 0 {
		return own[0].Question
	}
	members, _ := Members(wire.JSON(j.Input))
	if _, subject := MainFirst(members); subject != "" {
		return j.Tool + ": " + subject
	}
	return j.Tool
}
