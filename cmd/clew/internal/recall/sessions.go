package recall

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// A SessionsRequest selects the sessions to list.
type SessionsRequest struct {
	// Project is as in [SearchRequest].
	Project string
	// Since is the time of the last change. The zero time means no limit.
	Since time.Time
	// Limit is the maximum number of sessions. 0 means 10.
	Limit int
}

const (
	usualSessions = 10
	maxSessions   = 30
	titleLength   = 100
	// maxMeasured is the number of transcript bytes read for figures in one call.
	maxMeasured = 16 << 20
	// maxHead is the number of transcript bytes read for the first prompt.
	maxHead = 1 << 20
)

// figures describes the activity of a session, as it was at a time.
type figures struct {
	bytes    int64 // of its transcripts
	modified time.Time
	text     string
}

// Sessions lists the sessions that changed last, one on a line: its ref, the day, the first words of
// the user, the turns, the changed files and the cost. Titles are not shown: a model made them, of
// texts that may be somebody else's.
func (r *Recall) Sessions(ctx context.Context, req SessionsRequest) (string, error) {
	limit, err := checkLimit(req.Limit, usualSessions, maxSessions)
	if err != nil {
		return "", err
	}
	l, err := r.list(ctx)
	if err != nil {
		return "", err
	}
	files, _, err := r.scope(&l, req.Project)
	if err != nil {
		return "", err
	}
	rows, more := r.rows(ctx, files, &req, limit)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r.measure(ctx, rows)
	var b strings.Builder
	b.WriteString(sessionsHeading(&req, len(rows), more) + "\n")
	for i := range rows {
		row := &rows[i]
		fmt.Fprintf(&b, "%s %s", l.ref(row.info.ID), day(row.info.LastTime))
		if req.Project != "" {
			b.WriteString(" " + quote(plainLine(row.info.Home())))
		}
		fmt.Fprintf(&b, " user %s %s\n", r.safeHead(row.prompt, titleLength), row.figures)
	}
	return b.String(), nil
}

func sessionsHeading(req *SessionsRequest, shown, more int) string {
	where := "of this project"
	if req.Project == EveryProject {
		where = "of all projects"
	} else if req.Project != "" {
		where = "of project " + quoted(plain(req.Project), 60)
	}
	if !req.Since.IsZero() {
		where += " since " + day(req.Since)
	}
	if shown == 0 {
		return "There are no sessions " + where + ", beside the one that runs."
	}
	text := fmt.Sprintf("%s %s, the newest first", wording.Count(shown, "session"), where)
	if more > 0 {
		text += fmt.Sprintf("; %d more (raise limit, or give since)", more)
	}
	return text + ". To read one: read(ref). " + Record
}

// A row is a session of the list.
type row struct {
	info    sessions.SessionInfo
	prompt  string
	figures string
}

// rows returns the newest sessions with a user prompt, and the number of others.
func (r *Recall) rows(ctx context.Context, files []sessions.File, req *SessionsRequest, limit int) (rows []row, more int) {
	var infos []sessions.SessionInfo
	for i := range files {
		f := &files[i]
		if f.AgentID == "" && !f.Spill && !f.Info.ModTime().Before(req.Since) {
			infos = append(infos, sessions.SessionInfo{
				ID: f.SessionID, Project: f.Project, Path: f.Path, Modified: f.Info.ModTime(), Size: f.Info.Size(),
			})
		}
	}
	slices.SortFunc(infos, func(a, b sessions.SessionInfo) int { return b.Modified.Compare(a.Modified) })
	for len(infos) > 0 && len(rows) < limit && ctx.Err() == nil {
		n := min(limit, len(infos))
		for _, info := range sessions.Summarize(ctx, infos[:n]) {
			prompt := firstPrompt(info.Path)
			switch {
			case prompt == "" || !info.Listed():
			case len(rows) == limit:
				more++
			default:
				rows = append(rows, row{info: info, prompt: prompt})
			}
		}
		infos = infos[n:]
	}
	return rows, more + len(infos)
}

// firstPrompt returns the first text that the user typed in a session, or "".
func firstPrompt(path string) (prompt string) {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if isMember(file) {
		return ""
	}
	_ = eachLine(io.NewSectionReader(file, 0, maxHead), transcript.NewLineSplitter(maxHead), func(e *transcript.Entry) bool {
		for _, p := range search.Passages(e) {
			if p.Source == search.Said && p.Role == search.Prompt && prompt == "" {
				prompt = p.Text
			}
		}
		return prompt == ""
	})
	return prompt
}

// growTime is the time after the end of a session's own transcript in which its subagents are expected to write.
const growTime = time.Hour

// sizes returns the size of the transcripts of sessions with that of their subagents, or 0 if it is not expected to change.
func (r *Recall) sizes(ctx context.Context, infos []sessions.SessionInfo) []int64 {
	sizes := make([]int64, len(infos))
	var recent []sessions.SessionInfo
	var indexes []int
	for i := range infos {
		if time.Since(infos[i].Modified) < growTime {
			recent, indexes = append(recent, infos[i]), append(indexes, i)
		}
	}
	for i, size := range sessions.TranscriptSizes(ctx, recent) {
		sizes[indexes[i]] = size
	}
	return sizes
}

// measure fills in the figures of sessions. It reads sessions whose files changed since.
func (r *Recall) measure(ctx context.Context, rows []row) {
	infos := make([]sessions.SessionInfo, len(rows))
	for i := range rows {
		infos[i] = rows[i].info
	}
	sizes := r.sizes(ctx, infos)
	var unknown []sessions.SessionInfo
	r.mu.Lock()
	for i := range rows {
		info := &rows[i].info
		known, ok := r.figured[info.Path]
		if ok && (sizes[i] == 0 || known.bytes == sizes[i]) && known.modified.Equal(info.Modified) {
			rows[i].figures = known.text
		} else {
			unknown = append(unknown, *info)
		}
	}
	r.mu.Unlock()
	if len(unknown) == 0 {
		return
	}
	measured := sessions.Measure(ctx, unknown, &sessions.MeasureOptions{MaxBytes: maxMeasured})
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range unknown {
		info := &unknown[i]
		text := figuresText(&measured[i])
		if measured[i].Err == nil {
			r.figured[info.Path] = figures{measured[i].Bytes, info.Modified, text}
		}
		at := slices.IndexFunc(rows, func(row row) bool { return row.info.Path == info.Path })
		rows[at].figures = text
	}
}

// figuresText returns the turns, changed files and cost of a session.
func figuresText(f *sessions.Figures) string {
	if f.Err != nil {
		return "-"
	}
	cost := wording.CostOfCalls(usage.Cost(f.Calls, pricelist.Current()))
	return fmt.Sprintf("%s, %s changed, %s", wording.Count(f.Turns, "turn"), wording.Count(f.FilesChanged, "file"), cost.Cents())
}
