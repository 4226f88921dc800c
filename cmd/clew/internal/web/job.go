package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// isJobID reports whether id has the form of a job ID or a question ID.
func isJobID(id string) bool {
	const most = 64
	isOdd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	return id != "" && len(id) <= most && !strings.ContainsFunc(id, isOdd)
}

// fleetError returns a fleet error as a refusal.
func fleetError(err error) error {
	no := &refusal{status: http.StatusBadGateway, reason: tty.Clean(strings.TrimPrefix(err.Error(), "fleet: "))}
	_, isState := errors.AsType[*fleet.StateError](err)
	switch {
	case isState:
		no.status = http.StatusConflict
	case errors.Is(err, fleet.ErrNotFound):
		no.status, no.hint = http.StatusNotFound, "It may have been dropped."
	case errors.Is(err, context.DeadlineExceeded):
		no.reason, no.hint = "the fleet does not answer", "Look at it with: clew fleet doctor"
	}
	return no
}

// A jobPage is the data of a job's page.
type jobPage struct {
	fragment
	ID       string `json:"id"`
	Title    string `json:"title"`
	Patch    string `json:"patch"`    // the name of the file with the changes, or ""
	Budget   bool   `json:"budget"`   // it needs a larger one to continue
	CanStop  bool   `json:"canStop"`  // it can be canceled
	CanGoOn  bool   `json:"canGoOn"`  // it can be resumed
	CanRetry bool   `json:"canRetry"` // it can start again
	// Questions are those without an answer, and Answered all others.
	Questions []questionData `json:"questions"`
	Answered  []answeredData `json:"answered"`
}

// fleetRequest returns the fleet, with a context for a request to it. The caller calls done.
func (s *Server) fleetRequest(r *http.Request) (f Fleet, ctx context.Context, done func(), err error) {
	b, err := s.board(r.Context())
	if err != nil {
		return nil, nil, nil, err
	}
	b.Follow(s.ending) // job pages also get events
	ctx, done = context.WithTimeout(r.Context(), fleetTimeout)
	return b.fleet, ctx, done, nil
}

// job answers with a job.
func (s *Server) job(w http.ResponseWriter, r *http.Request) error {
	f, ctx, done, err := s.fleetRequest(r)
	if err != nil {
		return err
	}
	defer done()
	j, err := f.Job(ctx, r.PathValue("job"))
	if err != nil {
		return fleetError(err)
	}
	questions, remark, err := jobview.Questions(ctx, f, j.ID)
	if err != nil {
		return fleetError(err)
	}
	page := jobPage{
		ID: j.ID, Title: jobview.Title(j.Summary()), Budget: j.Cause == fleet.ByBudget, CanStop: !j.State.Ended() && j.Cancel == nil,
		Questions: []questionData{}, Answered: []answeredData{},
	}
	page.CanRetry, page.CanGoOn = j.CheckRequeue(fleet.Fresh) == nil, j.CheckRequeue(fleet.Continued) == nil
	if a := jobview.Patched(j); a != nil {
		page.Patch = a.Patch
	}
	for _, q := range questions {
		switch {
		case q.Answer == nil && !j.State.Ended():
			page.Questions = append(page.Questions, newQuestionData(&drive.Status{Agent: q.Job}, ask.OfJob(q, ask.MaxShown)))
		case q.Answer != nil:
			page.Answered = append(page.Answered, answeredData{q.Job, "", q.ID, tty.Line(jobview.Answerer(q.Answer)), jobview.AnswerText(q.Answer)})
		}
	}
	d := s.newJobDrawer()
	if j.State == fleet.Queued { // workers explain why they don't take it
		if err := d.around.Look(ctx, f); err != nil && remark == "" { // the page is about the job
			remark = fleetError(err).Error()
		}
	}
	if remark != "" {
		d.element("p", "error", remark)
	}
	d.job(ctx, j, questions)
	page.HTML = d.String()
	return reply(w, page)
}

// answerJob answers a job question. The request names the question, which never changes, so that an
// outdated page can't allow something else, and there is no need for a digest.
func (s *Server) answerJob(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Question string
		Answer   ask.Answer
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	f, ctx, done, err := s.fleetRequest(r)
	if err != nil {
		return err
	}
	defer done()
	job := r.PathValue("job")
	questions, _, err := jobview.Questions(ctx, f, job)
	if err != nil {
		return fleetError(err)
	}
	i := slices.IndexFunc(questions, func(q *fleet.Question) bool { return q.ID == body.Question })
	if i < 0 {
		return refused(http.StatusNotFound, "the job has no such question")
	}
	q := questions[i]
	answer, err := ask.OfJob(q, ask.MaxShown).JobAnswer(body.Answer)
	switch {
	case errors.Is(err, ask.ErrTooLong):
		return refused(http.StatusForbidden, "%v", err)
	case err != nil:
		return refused(http.StatusBadRequest, "%v", err)
	}
	answered, err := f.Answer(ctx, job, q.ID, answer)
	switch {
	case errors.Is(err, fleet.ErrAnswered) && answered != nil:
		return refused(http.StatusConflict, "%s", tty.Line(jobview.AnsweredBy(answered.Answer)))
	case err != nil:
		return fleetError(err)
	}
	s.audit(r, "answered", job, q.ID, jobview.AnswerText(answered.Answer), clip.Marked(q.Tool+" "+string(q.Input), maxQuoted))
	return reply(w, answeredData{job, "", q.ID, tty.Line(jobview.Answerer(answered.Answer)), jobview.AnswerText(answered.Answer)})
}

// decideJob makes a decision about a job.
func (s *Server) decideJob(w http.ResponseWriter, r *http.Request, action string, body any, decide func(ctx context.Context, f Fleet, id string) (*fleet.Job, error)) error {
	if err := decodeBody(r, body); err != nil {
		return err
	}
	f, ctx, done, err := s.fleetRequest(r)
	if err != nil {
		return err
	}
	defer done()
	j, err := decide(ctx, f, r.PathValue("job"))
	if err != nil {
		return fleetError(err)
	}
	s.audit(r, action, j.ID)
	return reply(w, struct {
		State fleet.State `json:"state"`
	}{j.State})
}

func (s *Server) cancelJob(w http.ResponseWriter, r *http.Request) error {
	return s.decideJob(w, r, "cancel", new(struct{}), func(ctx context.Context, f Fleet, id string) (*fleet.Job, error) {
		return f.Cancel(ctx, id, "")
	})
}

func (s *Server) resumeJob(w http.ResponseWriter, r *http.Request) error {
	var body struct{ Budget float64 }
	return s.decideJob(w, r, "resume", &body, func(ctx context.Context, f Fleet, id string) (*fleet.Job, error) {
		return f.Requeue(ctx, id, fleet.Requeue{Start: fleet.Continued, BudgetUSD: body.Budget})
	})
}

func (s *Server) retryJob(w http.ResponseWriter, r *http.Request) error {
	var body struct{ Budget float64 }
	return s.decideJob(w, r, "retry", &body, func(ctx context.Context, f Fleet, id string) (*fleet.Job, error) {
		return f.Requeue(ctx, id, fleet.Requeue{Start: fleet.Fresh, BudgetUSD: body.Budget})
	})
}

// job writes a job, without its title and its open questions.
func (d *jobDrawer) job(ctx context.Context, j *fleet.Job, questions []*fleet.Question) {
	asks := !j.State.Ended() && slices.ContainsFunc(questions, func(q *fleet.Question) bool { return q.Answer == nil })
	d.raw(`<p class="facts">`)
	d.state(j.State)
	row := jobview.NewRow(j.Summary(), asks)
	row.Text = "" // the whole of it follows
	d.reasons(row, j.Text)
	d.span("waits", jobview.Canceling(j))
	for _, f := range jobview.Facts(j, d.at) {
		d.fact(f.Name, f.Value)
	}
	d.raw("</p>")
	d.command("clew jobs tail " + j.ID)
	for _, q := range questions {
		if asks && d.s.opts.Drive == nil && q.Answer == nil && isJobID(q.ID) {
			d.command("clew jobs approve " + j.ID + " --question " + q.ID)
		}
	}
	switch {
	case jobview.Patched(j) == nil:
	case j.State == fleet.Done:
		d.command("clew jobs patch " + j.ID + " --apply")
	default:
		d.command("clew jobs patch " + j.ID)
	}
	d.result(j)
	d.raw("<h2>Prompt</h2>")
	_ = export.WriteText(d, j.Spec.Prompt, nil) // a builder takes everything
	d.attempts(ctx, j)
	d.answers(questions)
	d.decisions(j)
}

// fact writes a value with its name, unless it is empty.
func (d *jobDrawer) fact(name, value string) {
	if value != "" {
		d.raw(`<span class="fact"><span class="label">`, name, "</span> ")
		d.text(value)
		d.raw("</span>")
	}
}

// command writes a command to copy, with the flags that it needs. It must be our own.
func (d *jobDrawer) command(text string) {
	d.raw(`<p class="resume"><code data-command>`)
	d.text(text + d.s.opts.FleetFlags)
	d.raw("</code></p>")
}

// result writes the outcome of the job.
func (d *jobDrawer) result(j *fleet.Job) {
	r := j.Result()
	if r == nil {
		return
	}
	d.raw("<h2>Result</h2>")
	if r.Failed {
		d.element("p", "flag", "The agent reports an error.")
	}
	if r.Text != "" {
		_ = export.WriteText(d, r.Text, nil) // a builder takes everything
	}
	if len(r.Output) > 0 {
		_ = export.WriteCode(d, string(r.Output), "json", nil) // a builder takes everything
	}
	if r.File != "" {
		d.element("p", "missing", "There is more: clew jobs show "+j.ID+d.s.opts.FleetFlags)
	}
}

// attempts writes the attempts of a job, the newest first.
func (d *jobDrawer) attempts(ctx context.Context, j *fleet.Job) {
	if len(j.Attempts) == 0 {
		return
	}
	d.raw("<h2>Attempts</h2>")
	d.tableHead("The newest first", []column{{"Attempt", false}, {"Worker", false}, {"Began", false}, {"Took", true}, {"Cost", true}, {"Ended", false}, {"Session", false}})
	for _, a := range slices.Backward(j.Attempts) {
		d.raw(`<tr><th scope="row">`, strconv.Itoa(a.Number), "</th><td>")
		d.text(a.Worker)
		d.raw("</td><td>")
		d.time(a.Claimed, d.clock(a.Claimed))
		end, ended := a.Ended, jobview.AttemptCause(a.Cause)
		if end.IsZero() {
			end, ended = d.at, a.Status
		}
		d.raw(`</td><td class="r">`)
		d.text(wording.Duration(max(end.Sub(a.Claimed), 0)))
		d.raw(`</td><td class="r">`)
		d.text(wording.Dollars(a.CostUSD).Note())
		d.raw("</td><td>")
		d.text(render.Join(ended, a.Text))
		d.raw("</td><td>")
		d.session(ctx, a.Session)
		d.raw("</td></tr>")
	}
	d.tableEnd()
}

// session writes the ID of a session, with a link if pages show it.
func (d *jobDrawer) session(ctx context.Context, id string) {
	if !isSessionID(id) {
		return
	}
	short := id[:8]
	if _, _, err := d.s.listing.find(ctx, id); err != nil {
		d.element("span", "note", short)
		return
	}
	d.raw("<a")
	d.attr("href", "/s/"+url.PathEscape(id))
	d.raw(">")
	d.text(short)
	d.raw("</a>")
}

// answers writes the questions that were answered.
func (d *jobDrawer) answers(questions []*fleet.Question) {
	questions = slices.DeleteFunc(slices.Clone(questions), func(q *fleet.Question) bool { return q.Answer == nil })
	if len(questions) == 0 {
		return
	}
	d.raw("<h2>Answered questions</h2><ul>")
	for _, q := range questions {
		d.raw("<li>")
		d.text(q.Tool + ": " + jobview.AnswerText(q.Answer))
		if by := jobview.Answerer(q.Answer); by != "" {
			d.raw(" by ")
			d.text(by)
		}
		d.raw(" ")
		d.time(q.Answer.At, d.clock(q.Answer.At))
		d.span("reason", q.Answer.Text)
		d.raw("</li>")
	}
	d.raw("</ul>")
}

// decisions writes the decisions of people and policies.
func (d *jobDrawer) decisions(j *fleet.Job) {
	if len(j.Notes) == 0 {
		return
	}
	d.raw("<h2>Notes</h2><ul>")
	for i := range j.Notes {
		n := &j.Notes[i]
		d.raw("<li>")
		d.time(n.At, d.clock(n.At))
		d.raw(" ")
		d.text(render.Join(jobview.Author(n), n.Text))
		if n.Result != nil {
			d.element("p", "note", "A result that came too late:")
			_ = export.WriteText(d, n.Result.Text, nil) // a builder takes everything
		}
		d.raw("</li>")
	}
	d.raw("</ul>")
}

// jobPatch answers with the changes that a job made.
func (s *Server) jobPatch(w http.ResponseWriter, r *http.Request) error {
	f, ctx, done, err := s.fleetRequest(r)
	if err != nil {
		return err
	}
	defer done()
	j, err := f.Job(ctx, r.PathValue("job"))
	if err != nil {
		return fleetError(err)
	}
	a := jobview.Patched(j)
	if a == nil {
		return refused(http.StatusNotFound, "the job has changed no files")
	}
	text, isWhole, err := jobview.ReadPatch(ctx, f, a.Patch)
	if err != nil {
		return fleetError(err)
	}
	var m markup
	if isWhole {
		writePatch(&m, text, "clew jobs patch "+j.ID+s.opts.FleetFlags+" shows all")
	} else {
		m.element("p", "missing", "The patch has more than "+wording.Size(jobview.MaxPatch)+" and is not shown. To read it: clew jobs patch "+j.ID+s.opts.FleetFlags)
	}
	return reply(w, fragment{m.String()})
}

// writePatch writes a git patch, file by file. more explains how to see omitted parts.
func writePatch(m *markup, patch, more string) {
	files := jobview.ParsePatch(patch)
	if len(files) == 0 {
		_ = export.WriteCode(m, patch, "diff", &export.View{More: more}) // a builder takes everything
		return
	}
	left := jobview.MaxPatchLines
	for i := range files {
		if left <= 0 {
			m.element("p", "missing", fmt.Sprintf("%s not shown; %s", wording.Count(len(files)-i, "more file"), more))
			return
		}
		_ = export.WriteDiff(m, &files[i], &export.View{More: more}) // a builder takes everything
		left -= 3                                                    // a file without lines has a heading
		for _, h := range files[i].Hunks {
			left -= len(h.Lines)
		}
	}
}
