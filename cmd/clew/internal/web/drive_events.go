package web

import (
	"context"
	"maps"
	"reflect"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

// The names of the events about agents.
const (
	agentEvent    = "agent"
	questionEvent = "question"
	answeredEvent = "answered"
	deltaEvent    = "delta" // each contains the ones before it
)

// A deltaData is the part of an answer that is being written, as HTML.
type deltaData struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	HTML    string `json:"html"`
}

// An answeredData reports that a question is no longer open.
type answeredData struct {
	Agent    string `json:"agent"`
	Session  string `json:"session"`
	Question string `json:"question"`
	By       string `json:"by"`
	What     string `json:"what"`
}

// tellOfAgents publishes what changes in the agents until the context ends.
func (s *Server) tellOfAgents(ctx context.Context) {
	w := s.opts.Drive.Watch()
	defer w.Close()
	known := map[string]*drive.Status{}
	for {
		changed, err := w.Next(ctx)
		if err != nil {
			return
		}
		s.tellOfChanges(known, changed)
	}
}

// tellOfChanges publishes what changed in agents since it was last told of them, by the IDs of agents. It forgets those
// that Drive forgot, once there are many.
func (s *Server) tellOfChanges(known map[string]*drive.Status, changed []drive.Status) {
	for i := range changed {
		s.tellOfAgent(known[changed[i].Agent], &changed[i])
		known[changed[i].Agent] = &changed[i]
	}
	if len(known) <= 2*maxStreams {
		return
	}
	listed := map[string]bool{}
	for _, agent := range s.opts.Drive.List() {
		listed[agent.Agent] = true
	}
	maps.DeleteFunc(known, func(id string, _ *drive.Status) bool { return !listed[id] })
}

// tellOfAgent publishes the changes of an agent since before, which may be nil.
func (s *Server) tellOfAgent(before, now *drive.Status) {
	if before == nil {
		before = new(drive.Status)
	}
	if now.Text != before.Text {
		s.publish(deltaEvent, now.Session, deltaData{now.Agent, now.Session, draftHTML(now.Text)})
	}
	for _, q := range before.Questions {
		if !isAsked(now, q.ID, "") {
			s.publish(answeredEvent, "", answered(now, q.ID))
		}
	}
	for _, q := range now.Questions {
		if !isAsked(before, q.ID, q.Digest) {
			s.publish(questionEvent, "", newQuestionData(now, q))
		}
	}
	if data := newAgentData(now); !reflect.DeepEqual(data, newAgentData(before)) {
		s.publish(agentEvent, "", data)
	}
}

// isAsked reports whether a question is open, as it is shown unless the digest is "".
func isAsked(s *drive.Status, id, digest string) bool {
	for _, q := range s.Questions {
		if q.ID == id {
			return digest == "" || q.Digest == digest
		}
	}
	return false
}

// answered describes the fate of a question.
func answered(s *drive.Status, question string) answeredData {
	data := answeredData{Agent: s.Agent, Session: s.Session, Question: question, What: "it is not open any more"}
	for _, a := range s.Answers {
		if a.Question == question {
			data.By, data.What = a.By, a.What
		}
	}
	return data
}

// maxDraft is the maximum size of an unfinished answer that is shown. Only its end is kept.
const maxDraft = 16 << 10

// draftHTML returns the end of an answer that is being written.
func draftHTML(text string) string {
	if len(text) > maxDraft {
		text = text[len(text)-maxDraft:]
		if _, rest, ok := strings.Cut(text, "\n\n"); ok {
			text = rest
		}
		text = strings.ToValidUTF8(text, "")
	}
	if text == "" {
		return ""
	}
	var b strings.Builder
	_ = export.WriteText(&b, text, nil) // a builder takes everything
	return b.String()
}

// A questionData is a question in the form for pages. HTML is the request itself, and everything
// else is for the answers.
type questionData struct {
	Agent    string       `json:"agent"`
	Session  string       `json:"session"`
	Question string       `json:"question"`
	Digest   string       `json:"digest"`
	Title    string       `json:"title"`
	HTML     string       `json:"html"`
	Always   []changeData `json:"always"`
	Rule     string       `json:"rule"`
	Choices  []choiceData `json:"choices"`
	TooLong  bool         `json:"tooLong"`
}

// A changeData is a change of the permissions.
type changeData struct {
	Index  int    `json:"index"`
	Text   string `json:"text"`
	Marked bool   `json:"marked"`
}

// A choiceData is a question with options.
type choiceData struct {
	Text     string       `json:"text"`
	Header   string       `json:"header"`
	Multiple bool         `json:"multiple"`
	Options  []optionData `json:"options"`
}

// An optionData is an option. The label goes into the answer, and the text is shown.
type optionData struct {
	Label       string `json:"label"`
	Text        string `json:"text"`
	Description string `json:"description"`
	Preview     string `json:"preview"`
}

func newQuestionData(s *drive.Status, q *ask.Question) questionData {
	data := questionData{
		Agent: s.Agent, Session: s.Session, Question: q.ID, Digest: q.Digest, Title: questionTitle(q), HTML: questionHTML(q),
		Always: []changeData{}, Rule: q.Rule, Choices: []choiceData{}, TooLong: q.TooLong,
	}
	for _, c := range q.Always {
		data.Always = append(data.Always, changeData(c))
	}
	for i := range q.Choices {
		data.Choices = append(data.Choices, newChoiceData(&q.Choices[i]))
	}
	return data
}

func newChoiceData(q *tooluse.Question) choiceData {
	data := choiceData{Text: tty.Clean(q.Question), Header: tty.CleanLine(q.Header), Multiple: q.MultiSelect, Options: []optionData{}}
	for _, o := range q.Options {
		data.Options = append(data.Options, optionData{
			Label: o.Label, Text: tty.CleanLine(o.Label), Description: tty.Clean(o.Description), Preview: tty.Clean(o.Preview),
		})
	}
	return data
}

// questionTitle returns the asker and the request, for headings and screen readers.
func questionTitle(q *ask.Question) string {
	who := "The agent"
	if q.Subagent != "" {
		who = "A subagent"
	}
	switch {
	case len(q.Choices) > 0:
		return who + " asks you"
	case q.Tool == "ExitPlanMode":
		return who + " has made a plan"
	}
	return who + " wants to use " + tty.CleanLine(q.Tool)
}

// questionHTML returns the request verbatim: each input member by its exact name, and the diff of a
// file in place of the members that it shows whole.
func questionHTML(q *ask.Question) string {
	var m markup
	if q.Reason != "" {
		m.element("p", "note", q.Reason)
	}
	if q.TooLong {
		m.element("p", "flag", "The call is too long to be shown here. It can only be denied.")
	}
	if q.Input != "" {
		m.verbatim("input", q.Input)
	}
	for _, member := range q.Members {
		if !member.Replaced || leavesOut(q.Diff, member) {
			m.verbatim(member.Name, member.Text())
		}
	}
	if q.Remark != "" {
		m.element("p", "note", q.Remark)
	}
	if q.Diff != nil {
		_ = export.WriteDiff(&m, q.Diff, &export.View{Full: true}) // a builder takes everything
	}
	if m.Len() == 0 && len(q.Choices) == 0 {
		m.element("p", "note", "without input")
	}
	return m.String()
}

// leavesOut reports whether the diff on a page may not show every character of a member: a diff of
// the texts alone leaves out most unchanged lines, and pages remove color sequences.
func leavesOut(d *transcript.FileDiff, member ask.Member) bool {
	return d != nil && d.Relative || strings.Contains(strings.ToLower(member.Value), `\u001b`)
}

// verbatim writes a named text in which every character counts.
func (m *markup) verbatim(name, text string) {
	m.raw(`<div class="member">`)
	m.open("span", "name")
	m.clean(tty.CleanLine(name))
	m.raw(`</span><pre tabindex="0">`)
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			m.raw("\n")
		}
		m.clean(tty.CleanLine(line))
	}
	m.raw("</pre></div>")
}
